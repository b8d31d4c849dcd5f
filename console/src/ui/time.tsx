import { absolute, useRelative, useSince } from "./clock.ts";

/** An instant as people say it; the exact one on hover. */
export function Ago({ at, className }: { readonly at: string; readonly className?: string }) {
  const words = useRelative(at);
  return (
    <time dateTime={at} title={absolute(at)} className={className}>
      {words}
    </time>
  );
}

/** How long something lasts already, e.g. `9s`. */
export function Since({ at, className }: { readonly at: string; readonly className?: string }) {
  const words = useSince(at);
  return (
    <time dateTime={at} title={absolute(at)} className={className}>
      {words}
    </time>
  );
}
