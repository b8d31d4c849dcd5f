const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** `12.3 MB`; units of 1,024. */
export function bytesText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit] ?? "B"}`;
}
