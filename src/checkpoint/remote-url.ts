/** The URL without user and password; for ssh the user is no secret but is dropped too, so that spellings compare. */
export function withoutCredentials(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?/i.exec(url);
  if (scheme) return `${scheme[1] ?? ""}${url.slice(scheme[0].length)}`;
  return url.replace(/^[^/@:\s]+@(?=[^/]*:)/, "");
}

/** `host/owner/name` of ssh, scp-like, git and http(s) URLs; null for local paths and what cannot be read. */
export function normaliseRemote(url: string): string | null {
  const bare = withoutCredentials(url.trim());
  const full = /^(?:ssh|git|https?|git\+ssh|ssh\+git|git\+https?|ftps?):\/\/(\[[^\]]+\]|[^/:]+)(?::\d*)?\/(.*)$/i.exec(bare);
  if (full) return joined(full[1], full[2]);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(bare)) return null;
  const scp = /^(\[[^\]]+\]|[^/:\s]+):(?!:)(.+)$/.exec(bare);
  // A single letter before the colon is a drive of Windows, not a host.
  if (scp && (scp[1] ?? "").length > 1) return joined(scp[1], scp[2]);
  return null;
}

function joined(host: string | undefined, path: string | undefined): string | null {
  if (!host || !path) return null;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const name = parts.pop()?.replace(/\.git$/i, "");
  if (!name) return null;
  return [host.toLowerCase(), ...parts, name].map(decoded).join("/");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
