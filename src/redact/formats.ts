import { rulesByWord } from "./keywords.ts";
import type { Span } from "./span.ts";

interface FormatRule {
  readonly kind: string;
  /** The text is searched only when it holds one of these, in any case. */
  readonly hints: readonly string[];
  /** Global; every quantifier is bounded or followed by nothing, so a search is linear. Group `keep` stays in the text. */
  readonly pattern: RegExp;
}

/** How the keys of the rule `api-key` begin. */
const API_KEY_STARTS = [
  ...["gsk_", "gsk-", "sbp_", "lin_api", "figd_", "ntn_", "r8_", "doo_v1_", "dop_v1_", "dor_v1_", "shpat_", "shpss_", "shpca_"],
  ...["shppa_", "glsa_", "rubygems_", "sntry", "fm2_", "nvapi-", "xai-", "pplx-", "tskey-", "PMAK-", "NRAK-", "phc_", "phx_"],
  ...["tgp_v1_", "dckr_", "pscale_", "cfut_", "nfp_", "secret_", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
];

/**
 * What gitleaks lacks or is stricter about: credentials in headers, URLs and commands, and well-known tokens of any length,
 * as tests, documentation and cut output hold them. The more specific shape first.
 */
const FORMATS: readonly FormatRule[] = [
  token("jwt", ["eyJ"], /eyJ[\w-]{8,8192}\.eyJ[\w-]{8,8192}(?:\.[\w-]{0,8192})?/),
  token("anthropic-api-key", ["sk-ant-"], /sk-ant-[\w-]{8,256}/),
  // A digit tells a key from a style sheet's class name.
  token("openai-api-key", ["sk-"], /sk-(?=[\w-]{0,63}\d)[\w-]{20,256}/),
  token("github-token", ["gh", "github_pat_"], /gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{22,255}/),
  token("gitlab-token", ["gl"], /gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[\w.-]{16,300}/),
  token("aws-access-key", ["AKIA", "ASIA", "ABIA", "ACCA"], /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9+/=])/),
  token(
    "google-key",
    ["AIza", "ya29.", "GOCSPX-", "1//0"],
    /AIza[\w-]{30,40}|ya29\.[\w.-]{20,2048}|GOCSPX-[\w-]{20,64}|1\/\/0[\w-]{30,256}/,
  ),
  token("slack-token", ["xox", "xapp-"], /xox[abceoprs](?:\.xox[bp])?-[\w-]{10,512}|xapp-\d-[\w-]{10,512}/),
  kept("slack-webhook", ["hooks.slack.com"], /(?<keep>hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/+-]{20,256}/),
  kept("discord-webhook", ["/api/webhooks/"], /(?<keep>\/api\/webhooks\/\d{10,24}\/)[\w-]{30,128}/),
  token(
    "stripe-key",
    ["_live_", "_test_", "whsec_"],
    /(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,256}|whsec_[A-Za-z0-9+/=]{16,128}/,
  ),
  token("npm-token", ["npm_"], /npm_[A-Za-z0-9]{30,64}/),
  token("pypi-token", ["pypi-"], /pypi-AgE[\w-]{40,1024}/),
  token("huggingface-token", ["hf_"], /hf_[A-Za-z0-9]{30,64}/),
  token("sendgrid-key", ["SG."], /SG\.[\w-]{16,32}\.[\w-]{16,64}/),
  token("telegram-token", [":AA"], /\d{8,10}:AA[\w-]{32,35}(?![\w-])/),
  token("age-key", ["AGE-SECRET-KEY-"], /AGE-SECRET-KEY-1[A-Z0-9]{50,64}/),
  token("vault-token", ["hvs.", "hvb."], /hv[sb]\.[\w-]{20,512}/),
  // Issuers that put their name before enough random characters.
  token(
    "api-key",
    API_KEY_STARTS,
    /(?:gsk|sbp|lin_api|figd|ntn|r8|do[opr]_v1|shp(?:at|ss|ca|pa)|glsa|rubygems|sntry[su]|fm2|nvapi|xai|pplx|tskey(?:-\w{3,10})?|PMAK|NRAK|ph[cx]|tgp_v1|dckr_(?:pat|oat)|pscale_\w{2,8}|cfut|nfp)[_-](?=[\w-]{0,31}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9][\w-]{23,512}|secret_[A-Za-z0-9]{43}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44}/,
  ),
  token("databricks-token", ["dapi"], /dapi[a-f0-9]{32}(?:-\d)?/),
  token(
    "password-hash",
    ["$2", "$5$", "$6$", "$y$", "$argon2"],
    /\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|[56]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}|y\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}|argon2(?:id|i|d)\$v=\d{1,3}\$[a-z0-9=,]{1,64}\$[A-Za-z0-9+/]{8,128}\$[A-Za-z0-9+/]{16,256})/,
  ),
  kept(
    "url-password",
    ["://"],
    /(?<keep>:\/\/[^\s:@/?#"'`<>()[\]]{0,256}:)(?!\$|%s|\{|<|\*|\[redacted)[^\s@/?#"'`<>]{1,512}(?=@[\w[])/,
  ),
  // A password may hold a slash, a question mark or an at sign that nobody escaped: the last at sign before the host ends it.
  kept(
    "url-password",
    ["://"],
    /(?<keep>:\/\/[\w.%+-]{1,64}:)(?!\$|%s|\{|<|\*|\[redacted|\d{1,5}(?:\/|$))[^\s"'`<>,;]{1,256}(?=@(?:[\w-]{1,63}\.)*[\w-]{1,63}(?::\d{1,5})?(?:[/?"'\s]|$))/i,
  ),
  // A token in place of the user, as services take it.
  kept(
    "url-token",
    ["://"],
    /(?<keep>https?:\/\/)(?=[\w.~-]{0,63}\d)(?=[\w.~-]{0,63}[A-Za-z])[\w.~-]{20,512}(?=(?::x-oauth-basic)?@[\w[])/,
  ),
  kept(
    "authorization",
    ["authorization"],
    /(?<keep>authorization\\?["']?\s{0,4}[:=,]\s{0,4}\\?["'`]?(?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s{1,4}|(?=[^\s"'`\\,;)]{0,63}[\d=])))(?!\$|\{|<|\*|%|\[redacted|(?:bearer|basic|token)\b)[^\s"'`\\,;)]{6,8192}/i,
  ),
  kept(
    "bearer-token",
    ["bearer"],
    /(?<keep>\bbearer\s{1,4})(?!\$|\{|<|\*|%|\[redacted)(?=[\w.~+/-]{0,63}\d)[\w.~+/-]{16,8192}={0,2}/i,
  ),
  kept("cookie", ["cookie:"], /(?<keep>\b(?:set-)?cookie:[ \t]{0,4})(?!\[redacted)(?=[^\s=;]{1,128}=)[^\r\n"'`]{6,8192}/i),
  kept(
    "url-token",
    ["?", "&"],
    /(?<keep>[?&](?:access_token|refresh_token|id_token|auth_token|token|api[_-]?key|key|sig|signature|password|passwd|secret|client_secret|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=)(?!\$|\{|<|\*|%7B|\[redacted)[^\s&"'`<>#)]{8,4096}/i,
  ),
  kept(
    "password",
    ["-u ", "--user", "-u\t"],
    /(?<keep>\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]["']?[^\s:"'$]{1,128}:)(?!\$|\{|<|\*|\[redacted)[^\s"']{1,256}/,
  ),
  // Told in prose: it must look like no word.
  kept(
    "password",
    ["password is", "password was", "passphrase is", "token is", "secret is", "api key is"],
    /(?<keep>\b(?:[Pp]assword|[Pp]assphrase|[Tt]oken|[Ss]ecret|(?:API|api) key) (?:is|was):? ["'`]?)(?!\[redacted|\$|<|\{|https?:|[.~/])(?=[^\s"'`]{0,64}[\d!@#%^&*+=])[^\s"'`,;()]{6,512}/,
  ),
  kept("password", ["sshpass"], /(?<keep>\bsshpass\s{1,4}-p\s{0,4}["']?)(?!\$|\{|<|\*|\[redacted)[^\s"']{1,256}/),
  kept(
    "password",
    ["--"],
    /(?<keep>(?<![\w-])--[a-z-]{0,40}(?:password|passwd|token|secret|api-key|access-key|account-key)[ =]["'])(?!\$|\{|<|\*|\[redacted)[^\n"']{4,512}(?=["'])/i,
  ),
  kept(
    "password",
    ["password", "passwd"],
    /(?<keep>\blogin\s{1,4}\S{1,128}\s{1,4}passw(?:or)?d\s{1,4})(?!\$|\{|<|\*|\[redacted)\S{1,256}/,
  ),
];

export const FORMAT_HINTS: readonly string[] = FORMATS.flatMap(hintsOf);

const formatsFor = rulesByWord(FORMATS, hintsOf);

/** `words`: those of `FORMAT_HINTS` that the text holds. */
export function* formatSpans(text: string, words: ReadonlySet<string>): Generator<Span> {
  for (const { kind, pattern } of formatsFor(words)) {
    for (const match of text.matchAll(pattern)) {
      const start = match.index + (match.groups?.["keep"]?.length ?? 0);
      yield { start, end: match.index + match[0].length, kind };
    }
  }
}

function hintsOf({ hints }: FormatRule): readonly string[] {
  return hints.map((hint) => hint.toLowerCase());
}

function token(kind: string, hints: readonly string[], shape: RegExp): FormatRule {
  // Not inside a longer word: base64 of a picture can hold a prefix by chance.
  return { kind, hints, pattern: new RegExp(`(?<![A-Za-z0-9+_-])(?:${shape.source})`, "g") };
}

function kept(kind: string, hints: readonly string[], pattern: RegExp): FormatRule {
  return { kind, hints, pattern: new RegExp(pattern.source, `g${pattern.flags}`) };
}
