import { SETTINGS } from './settings.ts';

const ROWS = Object.values(SETTINGS);
const KNOWN = ROWS.flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env]));
const NO_FILES = ROWS.filter(({ secret }) => !secret).map(({ env }) => `${env}_FILE`);

const UNITS = ['MS', 'MB', 'BYTES', 'MINUTES', 'DAYS'];

/** A shorter name is as similar to variables of other programs. */
const MIN_LENGTH = 7;
/** From this length on, two letters may differ. */
const LONG = 9;

/**
 * Returns a sentence for each variable that seems to be a misspelled setting. The environment also contains variables
 * of other programs, so a name must be almost that of a setting: one or two letters are missing, added, wrong or
 * exchanged, or only the unit is missing (BROKER_TIMEOUT).
 */
export const unknownSettings = (env: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(env).flatMap((name) => {
    if (KNOWN.includes(name) || env[name] === '' || name.length < MIN_LENGTH) return [];
    if (NO_FILES.includes(name)) return [`${name} is not a setting: only secrets are read from files`];
    const meant = nearest(name.toUpperCase());
    return meant === null ? [] : [`${name} is not a setting. Did you mean ${meant}? Correct or unset it`];
  });

function nearest(name: string): string | null {
  const most = name.length < LONG ? 1 : 2;
  const [found] = KNOWN.filter((known) => Math.abs(known.length - name.length) <= most)
    .map((known) => ({ known, edits: edits(name, known) }))
    .sort((a, b) => a.edits - b.edits);
  if (found !== undefined && found.edits <= most) return found.known;
  return UNITS.map((unit) => `${name}_${unit}`).find((known) => KNOWN.includes(known)) ?? null;
}

/** The distance of Levenshtein, in which two exchanged letters count as one edit. */
function edits(a: string, b: string): number {
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
