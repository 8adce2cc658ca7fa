export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Beyond it the comparison would take too long, and all lines are shown as changed. */
const MOST_LINES = 500;

/** The lines of `after`, and those of `before` that it does not have. */
export function diffOf(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  if (old.length > MOST_LINES || now.length > MOST_LINES) return [...lines('removed', old), ...lines('added', now)];
  const common = commonLengths(old, now);
  const length = (row: number, column: number) => common[row]?.[column] ?? 0;
  const result: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < now.length) {
    if (old[row] === now[column]) {
      result.push({ kind: 'same', text: now[column] ?? '' });
      row += 1;
      column += 1;
    } else if (length(row + 1, column) >= length(row, column + 1)) {
      result.push({ kind: 'removed', text: old[row] ?? '' });
      row += 1;
    } else {
      result.push({ kind: 'added', text: now[column] ?? '' });
      column += 1;
    }
  }
  return [...result, ...lines('removed', old.slice(row)), ...lines('added', now.slice(column))];
}

const lines = (kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] => texts.map((text) => ({ kind, text }));

/** The length of the longest common subsequence of the lines from each pair of positions. */
function commonLengths(old: readonly string[], now: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  for (let row = old.length - 1; row >= 0; row -= 1) {
    const [current = [], next = []] = [table[row], table[row + 1]];
    for (let column = now.length - 1; column >= 0; column -= 1) {
      current[column] =
        old[row] === now[column] ? (next[column + 1] ?? 0) + 1 : Math.max(next[column] ?? 0, current[column + 1] ?? 0);
    }
  }
  return table;
}
