export interface TokenRule {
  readonly kind: string;
  /** The text is searched only when it holds one of these literals. */
  readonly hints: readonly string[];
  /** Global; every quantifier is bounded or followed by nothing, so a search is linear. Group `keep` stays in the text. */
  readonly pattern: RegExp;
}

/** Credentials that are known by their own shape, as their issuers document it; the more specific shape first. */
export const TOKEN_RULES: readonly TokenRule[] = [
  token("jwt", ["eyJ"], /eyJ[\w-]{8,8192}\.eyJ[\w-]{8,8192}(?:\.[\w-]{0,8192})?/),
  token("anthropic_key", ["sk-ant-"], /sk-ant-[\w-]{16,256}/),
  // A digit tells a key from a style sheet's class name.
  token("openai_key", ["sk-"], /sk-(?=[\w-]{0,63}\d)[\w-]{20,256}/),
  token("github_token", ["gh", "github_pat_"], /gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255}/),
  token("gitlab_token", ["gl"], /gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[\w.-]{20,300}/),
  token("aws_key_id", ["AKIA", "ASIA", "ABIA", "ACCA"], /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9+/=])/),
  token(
    "google_key",
    ["AIza", "ya29.", "GOCSPX-", "1//0"],
    /AIza[\w-]{35}|ya29\.[\w.-]{20,2048}|GOCSPX-[\w-]{20,64}|1\/\/0[\w-]{30,256}/,
  ),
  token("slack_token", ["xox", "xapp-"], /xox[abceoprs](?:\.xox[bp])?-[\w-]{10,512}|xapp-\d-[\w-]{10,512}/),
  kept("slack_webhook", ["hooks.slack.com"], /(?<keep>hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/+-]{20,256}/),
  kept("discord_webhook", ["/api/webhooks/"], /(?<keep>\/api\/webhooks\/\d{10,24}\/)[\w-]{30,128}/),
  token(
    "stripe_key",
    ["_live_", "_test_", "whsec_"],
    /(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,256}|whsec_[A-Za-z0-9+/=]{16,128}/,
  ),
  token("npm_token", ["npm_"], /npm_[A-Za-z0-9]{36}/),
  token("pypi_token", ["pypi-"], /pypi-AgE[\w-]{40,1024}/),
  token("huggingface_token", ["hf_"], /hf_[A-Za-z0-9]{30,64}/),
  token("sendgrid_key", ["SG."], /SG\.[\w-]{16,32}\.[\w-]{16,64}/),
  token("telegram_token", [":AA"], /\d{8,10}:AA[\w-]{32,35}(?![\w-])/),
  token("age_key", ["AGE-SECRET-KEY-"], /AGE-SECRET-KEY-1[A-Z0-9]{50,64}/),
  token("vault_token", ["hvs.", "hvb."], /hv[sb]\.[\w-]{20,512}/),
  // Issuers that put their name before enough random characters.
  token(
    "api_key",
    ["_", "-", "dp."],
    /(?:gsk|sbp|lin_api|figd|ntn|r8|do[opr]_v1|shp(?:at|ss|ca|pa)|glsa|rubygems|sntry[su]|fm2|nvapi|xai|pplx|tskey(?:-\w{3,10})?|PMAK|NRAK|ph[cx]|tgp_v1)[_-](?=[\w-]{0,31}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9][\w-]{23,512}|secret_[A-Za-z0-9]{43}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44}/,
  ),
  token("databricks_token", ["dapi"], /dapi[a-f0-9]{32}(?:-\d)?/),
  kept(
    "url_password",
    ["://"],
    /(?<keep>:\/\/[^\s:@/?#"'`<>()[\]]{0,256}:)(?!\$|%s|\{|<|\*|\[redacted)[^\s@/?#"'`<>]{1,512}(?=@[\w[])/,
  ),
  kept(
    "authorization",
    ["uthorization", "UTHORIZATION"],
    /(?<keep>authorization\\?["']?\s{0,4}[:=,]\s{0,4}\\?["'`]?(?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s{1,4}|(?=[^\s"'`\\,;)]{0,63}[\d=])))(?!\$|\{|<|\*|%|\[redacted|(?:bearer|basic|token)\b)[^\s"'`\\,;)]{8,8192}/i,
  ),
  kept(
    "bearer",
    ["earer", "EARER"],
    /(?<keep>\bbearer\s{1,4})(?!\$|\{|<|\*|%|\[redacted)(?=[\w.~+/-]{0,63}\d)[\w.~+/-]{16,8192}={0,2}/i,
  ),
  kept(
    "cookie",
    ["ookie:", "OOKIE:"],
    /(?<keep>\b(?:set-)?cookie:[ \t]{0,4})(?!\[redacted)(?=[^\s=;]{1,128}=)[^\r\n"'`]{6,8192}/i,
  ),
  kept(
    "url_token",
    ["?", "&"],
    /(?<keep>[?&](?:access_token|refresh_token|id_token|auth_token|token|api[_-]?key|key|sig|signature|password|passwd|secret|client_secret|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=)(?!\$|\{|<|\*|%7B|\[redacted)[^\s&"'`<>#)]{8,4096}/i,
  ),
  kept(
    "password",
    ["-u ", "--user"],
    /(?<keep>\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]["']?[^\s:"'$]{1,128}:)(?!\$|\{|<|\*|\[redacted)[^\s"']{1,256}/,
  ),
  kept(
    "password",
    ["password", "passwd"],
    /(?<keep>\blogin\s{1,4}\S{1,128}\s{1,4}passw(?:or)?d\s{1,4})(?!\$|\{|<|\*|\[redacted)\S{1,256}/,
  ),
];

function token(kind: string, hints: readonly string[], shape: RegExp): TokenRule {
  // Not inside a longer word: base64 of a picture can hold a prefix by chance.
  return { kind, hints, pattern: new RegExp(`(?<keep>)(?<![A-Za-z0-9+/=_-])(?:${shape.source})`, "g") };
}

function kept(kind: string, hints: readonly string[], pattern: RegExp): TokenRule {
  return { kind, hints, pattern: new RegExp(pattern.source, `g${pattern.flags}`) };
}
