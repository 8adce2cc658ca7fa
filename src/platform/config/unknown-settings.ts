import { nearestName } from '../text/nearest-name.ts';
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
  const withUnit = () => UNITS.map((unit) => `${name}_${unit}`).find((known) => KNOWN.includes(known)) ?? null;
  return nearestName(name, KNOWN, name.length < LONG ? 1 : 2) ?? withUnit();
}
