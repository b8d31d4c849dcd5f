/**
 * What agents, gateways and providers write when they cannot go on, by meaning. Searched in error texts only; a last message
 * has to be an error as a whole before any of these is tried on it (classify-stop-line.ts).
 */
export const PHRASES = {
  turns:
    /\b(?:reached|hit|exceeded) (?:the |its )?max(?:imum)? (?:number of )?(?:turns|iterations?|actions)\b|\bmax(?:imum)?[_ ](?:turns|iterations?) (?:reached|exceeded)|\breached max session turns\b|reached the maximum number of actions/i,
  budget:
    /\breached (?:the |its )?max(?:imum)? budget\b|\bexceeded USD budget\b|\bbudget exhausted\b|\bmaximum budget for conversation\b/i,
  loop: /\ba potential loop was detected\b|\bagent (?:is |got )?stuck in (?:a )?loop\b/i,
  credit:
    /\b(?:credit|account) balance (?:is )?(?:too low|insufficient|exhausted|negative)|\binsufficient[ _](?:credits?|funds|balance|quota)\b|\b(?:requires?|needs?) more credits|\bcan only afford\b|\bpayment required\b|\b(?:out of|run out of|ran out of|no|not enough|no more) credits?\b(?: (?:left|remaining))?|\bcredits? (?:have been |has been |are |is )?(?:exhausted|depleted|used up)|\bbilling (?:hard |soft )?limit|\byour (?:plan and )?billing\b|\bno payment method\b|\baccount is not active\b|\bspecified API usage limits|\bspend(?:ing)? (?:limit|cap)\b|\bextra usage is required\b|\bout of extra usage\b(?![\s\S]{0,60}\bresets?\b)|^budget has been exceeded|\bpayment (?:failed|is overdue|was declined|method required)|\bsubscription (?:has |is )?(?:expired|lapsed|inactive|past due)|\b(?:account|invoice)[\w ]{0,20}(?:past due|overdue|on hold)\b/im,
  capacity:
    /\bnot your usage limit\b|\btemporarily limiting requests\b|\bat capacity\b|\bno capacity available\b|\boverloaded(?:_error)?\b|\bhigh (?:demand|load|traffic)\b|\b(?:server|service|model|system)s? (?:is |are )?(?:currently |temporarily |too )?busy\b/i,
  refusal:
    /\bunable to respond to this request\b|\bviolates? (?:our|the) (?:[\w-]+ )?(?:usage |content )?polic|\bflagged (?:for|as) (?:possible|possibly|potential|potentially|suspected|violat\w+|cyber\w*|unsafe|harmful|policy|prohibited)\b[\w -]*|\b(?:was|input|content|request) flagged\b|\bflagged by\b|\brequires moderation\b|\bcontent (?:policy|filter|management policy)|\bblocked by (?:[\w-]+ )?(?:safety|content)|\bsafety (?:filter|policy)|\bprohibited[_ ]content\b/i,
  context:
    /\bexceeds? (?:the |this |its )?(?:model's |model )?(?:maximum )?context (?:window|length|limit|size)(?: limit)?\b|\bprompt (?:is )?too long\b|\b(?:input|conversation|request|context|message) (?:is )?too (?:long|large)\b|\bcontext[_ ]length[_ ]exceeded\b|\bcontext window(?: is full)?\b|\bmaximum (?:context|prompt|input) length\b(?: is [\d,]+(?: tokens)?)?|\bcontext (?:length|limit|size)\b|\binput token count\b|\bmaximum number of (?:input )?tokens allowed\b|\bexceeds? the (?:model's |model |maximum )?(?:context|allowed tokens|maximum tokens)|\brequest[_ ]too[_ ]large\b|\brequest exceeds the maximum size\b/i,
  limit:
    /\b(?:hit|reached|exceeded|exceeds?|used up|over) (?:your|the|its|our|this|their)\b[\w' -]{0,50}\b(?:limits?|quota)\b|\blimits? (?:has been |have been |was |is |are )?(?:reached|exceeded|hit)\b|\brate[ -]?limit(?:ed|ing|s)?\b|\bout of extra usage\b|\bout of (?:[\w-]+ )?(?:messages|requests|usage)\b|\bexhausted your\b[\w ]{0,40}\b(?:capacity|quota|limit)|\bquota (?:has been |is |was )?(?:exceeded|exhausted|reached)|\b(?:daily|hourly|weekly|monthly) quota\b|\bexceeded your current quota\b|\busage (?:has been |is )?exceeded\b|\btoo many (?:requests|tokens)\b|\bresource (?:has been |is )?exhausted\b|\bthrottl(?:ed|ing)\b/i,
  auth: /\b(?:invalid|missing|no) (?:x-)?api[- ]?key\b|\bincorrect api key\b|\bapi[- ]key (?:is |was |has )?(?:not valid|invalid|expired|not found|missing|required|not set|revoked|disabled)|\binvalid_grant\b|\btoken refresh failed\b|\b(?:organization|account|workspace) does not have access\b|\bnot (?:logged|signed) in\b|\brun \/login\b|\b(?:log|sign)(?:ing)?[ -]?in again\b|\bplease (?:log|sign)[ -]?in\b|\bauthentication (?:is )?(?:required|failed|error)|\b(?:unable|not able|failed) to authenticate\b|\bcould not (?:authenticate|resolve authentication|validate credentials)|\bunauthori[sz]ed\b|\bno auth credentials\b|\b(?:oauth|access|refresh|id|security|session|bearer|auth|authentication|provided) token\b[\w ,']{0,60}\b(?:expired|revoked|invalid|could not be refreshed|already used|already been used)|\btoken (?:has |is |was )?(?:expired|been revoked|revoked|invalid)|\binvalid (?:bearer |access |auth(?:entication)? )?(?:token|credentials)\b|\bfailed to refresh token\b|\bcredentials? (?:have |has |are |is |were )?(?:expired|invalid|missing|not found|could not|rejected)|\b(?:organization|account|workspace) (?:has been |is |was )?(?:disabled|deactivated|suspended|banned)|\bmissing bearer\b|\bset an auth method\b|\b(?:login|session) (?:has )?expired\b|\bfailed to (?:log ?in|sign in)\b/i,
  killed:
    /\b(?:terminated|killed) by signal\b|\bprocess (?:was |has been )?(?:killed|terminated)\b|\bexit(?:ed)? (?:with )?(?:code|status)?:? ?(?:137|143|134|139|-9|-15)\b|\bSIG(?:KILL|TERM|ABRT|SEGV|HUP|BUS)\b/i,
  aborted:
    /\boperation (?:aborted|cancell?ed)\b|\b(?:interrupted|aborted|cancell?ed) by (?:the )?user\b|\brequest (?:was )?cancell?ed\b/i,
  storage: /\bno space left on device\b|\bENOSPC\b|\bdisk quota exceeded\b|\bread-only file system\b|\bdisk is full\b/i,
  start: /\bspawn\b[^\n]{0,200}\b(?:ENOENT|EACCES)\b|\bcommand not found\b|\bno such file or directory\b/i,
  connection:
    /\bECONN(?:RESET|REFUSED|ABORTED)\b|\bE(?:TIMEDOUT|NOTFOUND|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN)\b|\bUND_ERR_\w+|\bsocket (?:hang up|connection was closed|closed|error)|\bconnection (?:was |has been |is )?(?:reset|refused|closed|dropped|lost|error|timed out|aborted|failed|interrupted|terminated)|\b(?:cannot|can't|could not|unable to|failed to) (?:connect|reach)\b|\bfetch failed\b|\bfailed to fetch\b|\bnetwork (?:error|failure|issue|connection|is unreachable)|\bstream (?:error|disconnected|closed|ended|interrupted)|\berror sending request\b|\bother side closed\b|\bpremature (?:close|end)\b|\b(?:request|connection|connect|operation|read|response|stream|gateway|idle)[ -]time(?:d )?-?out\b|\btimed out\b|\b(?:due to|idle|gateway|connect|read) time-?out\b|\btimeout (?:occurred|waiting|error|exceeded|of \d)|\bterminated(?=\]?$)|^terminated\b|\bgetaddrinfo\b|\bbad gateway\b|\bservice (?:is )?(?:temporarily )?unavailable\b|\binternal (?:server|network) error\b|\binternal error (?:has )?(?:occurred|encountered)|\b(?:ssl|tls) (?:certificate|handshake|error)|\bcertificate (?:verification|has expired)|\bself[- ]signed certificate\b|\bserver (?:had an |has an )?error\b|\bupstream (?:connect )?error\b|\bmodel (?:is )?(?:currently |temporarily )?unavailable\b|\bprovider returned (?:an )?error\b|\bunexpected end of (?:stream|input|json)|\bresponse\.(?:failed|incomplete)\b|\bsilent model\b/im,
} as const satisfies Record<string, RegExp>;
export type PhraseName = keyof typeof PHRASES;

/** The agent goes on by itself: no stop, unless it will only do so after a long while. */
export const PROGRESS =
  /\bretrying (?:in|with|after|\d+\/\d+|now|claude|\()|\battempt \d+ failed\b|\breconnecting\b|\bretry (?:attempt )?\d+ ?(?:\/|of) ?\d+|\bswitching to the\b/i;

/** HTTP statuses that an error text names as such; a bare number is none. */
const STATUS_IN_TEXT =
  /\b(?:API Error|(?:unexpected |last |got )?status(?: code)?|error code|HTTP(?:\/[\d.]+)?|rejected|failed|bad request|server error|request error)\b(?: with)?[:=]?\s{0,2}\(?(?:status )?(?:code )?([45]\d\d)\b|(?:^|[\s(:])([45]\d\d) (?:Unauthorized|Payment Required|Forbidden|Too Many Requests|Request Timeout|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Overloaded|status code)/gim;

export function statusesIn(text: string): readonly number[] {
  return [...text.matchAll(STATUS_IN_TEXT)].map((found) => Number(found[1] ?? found[2]));
}
