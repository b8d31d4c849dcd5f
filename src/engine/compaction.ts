/**
 * How an engine tells that it replaced its conversation by a summary. No ACP update is made for it: some engines say it in words
 * of their own, some by an update of a kind that is not in the protocol, and the count of tokens in the context falls.
 */

const KIND = /compact|compress/i;

/** A whole chunk of a message; a sentence about compaction within an answer is none. */
const NOTICE =
  /^[\s*_]*(?:compacting(?:\.{3}|…| completed\.?| (?:the )?(?:context|conversation)[^\n]{0,80})?|(?:the )?(?:context|conversation|chat history|history) (?:was |has been )?(?:automatically )?(?:compacted|compressed|summari[sz]ed)[^\n]{0,120})[\s*_]*$/i;

export function saysCompacted(chunk: string): boolean {
  return chunk.length <= 200 && NOTICE.test(chunk);
}

export function isCompactionKind(kind: string): boolean {
  return KIND.test(kind);
}

/** Tokens in the context before and after one update, within a turn. */
export function shrank(before: number, after: number, size: number): boolean {
  return before >= size * 0.4 && after < before * 0.6;
}
