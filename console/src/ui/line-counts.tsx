/** Lines that a file gained and lost. */
export function LineCounts({
  file,
}: {
  readonly file: { readonly binary: boolean; readonly added: number | null; readonly removed: number | null };
}) {
  if (file.binary) return <span className="text-soft">binary</span>;
  return (
    <>
      <span className="text-good">+{file.added ?? 0}</span> <span className="text-bad">−{file.removed ?? 0}</span>
    </>
  );
}
