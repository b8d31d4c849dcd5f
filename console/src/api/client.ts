/** The API answered with an error (RFC 9457); `message` is its text for people. */
export class Problem extends Error {
  readonly status: number;
  /** An error code of the tools, e.g. `not_allowed`; null when the answer was no problem document. */
  readonly code: string | null;
  /** The fixed first word of a refusal, e.g. `needs_iterations`. */
  readonly refusal: string | null;

  constructor(message: string, facts: { status: number; code?: string | null; refusal?: string | null }) {
    super(message);
    this.name = "Problem";
    this.status = facts.status;
    this.code = facts.code ?? null;
    this.refusal = facts.refusal ?? null;
  }
}

/** The server could not be reached at all. */
export class Offline extends Error {}

/** Tells the server that the request comes from its own page: no form and no link of another page can send it. */
const OWN_PAGE = { "x-loopkeeper": "console" };

export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answer<T>(await ask(path, { headers: OWN_PAGE, ...(signal === undefined ? {} : { signal }) }));
}

export async function send(path: string, body: object): Promise<void> {
  await answer(
    await ask(path, { method: "POST", headers: { ...OWN_PAGE, "content-type": "application/json" }, body: JSON.stringify(body) }),
  );
}

/**
 * Carries out one action. `requestId` makes a repeated click or a lost answer harmless; `revision` is the one that the person
 * looked at: a run that moved since is refused as `revision_conflict`.
 */
export async function act<T>(
  path: string,
  body: object,
  { requestId, revision }: { readonly requestId?: string; readonly revision?: number },
): Promise<T> {
  const response = await ask(path, {
    method: "POST",
    headers: {
      ...OWN_PAGE,
      "content-type": "application/json",
      ...(requestId === undefined ? {} : { "idempotency-key": requestId }),
      ...(revision === undefined ? {} : { "if-match": `"${revision}"` }),
    },
    body: JSON.stringify(body),
  });
  return answer<T>(response);
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Offline("The server cannot be reached. Nothing is lost: runs go on without it.", { cause: error });
  }
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) {
    const body: T = await response.json();
    return body;
  }
  const problem: { detail?: string; title?: string; code?: string; refusal?: string } = await response.json().catch(() => ({}));
  throw new Problem(problem.detail ?? problem.title ?? `The server answered ${response.status}.`, {
    status: response.status,
    code: problem.code ?? null,
    refusal: problem.refusal ?? null,
  });
}
