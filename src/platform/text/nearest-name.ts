/** Longer names are not compared, because the cost grows with the square of the length. */
const MAX_LENGTH = 50;

/** The known name that is most similar: at most a third of its letters differ, ignoring case. `null` if none is. */
export function nearestName(sent: string, known: Iterable<string>): string | null {
  if (sent.length > MAX_LENGTH) return null;
  let nearest: string | null = null;
  let least = Math.max(1, Math.floor(sent.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(sent.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, at(row, j) + 1, at(next, j - 1) + 1));
    }
    row = next;
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
