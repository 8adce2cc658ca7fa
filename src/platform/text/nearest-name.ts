/** Longer names are not compared, because the cost grows with the square of the length. */
const MAX_LENGTH = 50;

/**
 * The known name that is most similar, ignoring case: at most `most` letters are missing, added, wrong or exchanged.
 * `null` if none is. Default: a third of the letters.
 */
export function nearestName(
  sent: string,
  known: Iterable<string>,
  most = Math.max(1, Math.floor(sent.length / 3)),
): string | null {
  if (sent.length > MAX_LENGTH) return null;
  let nearest: string | null = null;
  let least = most + 1;
  for (const name of known) {
    if (Math.abs(name.length - sent.length) >= least) continue;
    const distance = editDistance(sent.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** The distance of Levenshtein, in which two exchanged letters count as one edit. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchange = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1, isExchange ? at(i - 2, j - 2) + 1 : replaced));
    }
  }
  return at(a.length, b.length);
}
