import type { InputIssue } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { isDeeper } from '../../../platform/text/json-depth.ts';
import { pointerStep } from '../../../platform/text/json-schema.ts';
import { fieldsOf, isFields } from '../../../protocol/control/fields.ts';
import type { SecretPlace } from './secret-places.ts';
import { isPlace, MASK, maskText, placeOf, restoreText } from './secret-text.ts';

/** Maximum depth of a configuration. Recursion would overflow the stack at a much greater depth. */
export const MAX_DEPTH = 50;

export const isTooDeep = (value: unknown): boolean => isDeeper(value, MAX_DEPTH);

/**
 * The configuration with MASK for each secret. Must not be called for a deeper value than MAX_DEPTH. Yields for each
 * value.
 */
export function* masked(value: unknown, place: SecretPlace): SlicedTask<unknown> {
  yield;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const [index, entry] of value.entries()) list.push(yield* masked(entry, place.item(index)));
    return list;
  }
  if (isFields(value)) {
    const entries: [string, unknown][] = [];
    for (const [key, entry] of Object.entries(value)) entries.push([key, yield* masked(entry, place.key(key))]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== 'string') return place.isSecret && typeof value === 'number' ? MASK : value;
  if (!place.isSecret) return maskText(value);
  return value === '' ? '' : MASK;
}

export function secretsIn(value: unknown, place: SecretPlace): string[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => secretsIn(entry, place.item(index)));
  if (isFields(value)) return Object.entries(value).flatMap(([key, entry]) => secretsIn(entry, place.key(key)));
  return place.isSecret && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [];
}

interface Unmasked {
  readonly config: unknown;
  /** Places where MASK has no stored secret, or the secret must be given again; paths are JSON pointers. */
  readonly issues: readonly InputIssue[];
}

/**
 * Replaces each MASK of a given configuration by the stored secret. Entries of lists are matched by `name`, entries
 * without a name by position. A secret is restored only if it goes to the same address as before (placeOf), with the
 * same TLS settings: otherwise a caller who may write a configuration, but not read its secrets, could send them to any
 * host. Yields for each object, list and secret.
 */
export function* unmasked(given: unknown, stored: unknown, place: SecretPlace): SlicedTask<Unmasked> {
  if (!JSON.stringify(given).includes(MASK)) return { config: given, issues: [] };
  const issues: InputIssue[] = [];
  const restored: Restored[] = [];
  const config = yield* merge({ given, stored, place, path: '', above: [], issues, restored });
  for (const { path, above } of restored) {
    yield;
    const moved = above.some(([{ now, before }, key]) => placesOf(now, key) !== placesOf(before, key));
    if (moved) issues.push({ path, reason: ELSEWHERE });
  }
  return { config, issues };
}

/** An object that contains values: as it will be, once known, and as it was. */
interface Container {
  now: unknown;
  readonly before: unknown;
}

/** The objects around a value, each with the key that leads to it. */
type Above = readonly (readonly [Container, key: string])[];

interface Restored {
  readonly path: string;
  readonly above: Above;
}

interface Merging {
  readonly given: unknown;
  readonly stored: unknown;
  readonly place: SecretPlace;
  readonly path: string;
  readonly above: Above;
  readonly issues: InputIssue[];
  readonly restored: Restored[];
}

const NOTHING_STORED = `must be given: there is no stored secret for "${MASK}"`;
const ELSEWHERE = `must be given again, because the host, the path of the web address, or the TLS settings changed: "${MASK}" keeps a secret only for the same ones`;

function* merge(merging: Merging): SlicedTask<unknown> {
  const { given, stored, place, path, above } = merging;
  if (typeof given === 'string') return restore(given, merging);
  if (Array.isArray(given)) {
    yield;
    const partners = partnersOf(given, stored);
    const list: unknown[] = [];
    for (const [index, entry] of given.entries()) {
      const at = { given: entry, stored: partners[index], place: place.item(index), path: `${path}/${index}` };
      list.push(yield* merge({ ...merging, ...at }));
    }
    return list;
  }
  if (isFields(given)) {
    yield;
    const container: Container = { now: null, before: stored };
    const known = fieldsOf(stored);
    const entries: [string, unknown][] = [];
    for (const [key, entry] of Object.entries(given)) {
      const at = {
        given: entry,
        stored: Object.hasOwn(known, key) ? known[key] : undefined,
        place: place.key(key),
        path: `${path}/${pointerStep(key)}`,
        above: [...above, [container, key]] as const,
      };
      entries.push([key, yield* merge({ ...merging, ...at })]);
    }
    container.now = Object.fromEntries(entries);
    return container.now;
  }
  return given;
}

function restore(given: string, { stored, place, path, above, issues, restored }: Merging): unknown {
  const isWhole = place.isSecret && given === MASK;
  const value = isWhole ? storedSecret(stored) : restoreText(given, stored);
  if (value === given && !isWhole) return given;
  if (value === null) issues.push({ path: path || '/', reason: NOTHING_STORED });
  else restored.push({ path: path || '/', above });
  return value ?? given;
}

const storedSecret = (stored: unknown): string | number | null =>
  (typeof stored === 'string' && stored !== '') || typeof stored === 'number' ? stored : null;

function partnersOf(given: readonly unknown[], stored: unknown): readonly unknown[] {
  if (!Array.isArray(stored)) return [];
  const byName = new Map(stored.flatMap((entry) => (nameOf(entry) === null ? [] : [[nameOf(entry), entry] as const])));
  return given.map((entry, index) => {
    const name = nameOf(entry);
    if (name !== null) return byName.get(name);
    return nameOf(stored[index]) === null ? stored[index] : undefined;
  });
}

const nameOf = (entry: unknown): string | null =>
  isFields(entry) && typeof entry.name === 'string' ? entry.name : null;

/**
 * The addresses that a secret below `key` may be sent to: all that name a place. Lists between are left out, because
 * each of their entries has places of its own.
 */
function placesOf(value: unknown, key: string): string {
  if (!isFields(value)) return '';
  const others = Object.entries(value).filter(([name, entry]) => name !== key || !Array.isArray(entry));
  return JSON.stringify(others.flatMap(([name, entry]) => placesIn(name, entry)).sort());
}

function placesIn(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => placesIn(name, entry));
  if (isFields(value)) {
    return Object.entries(value).flatMap(([key, entry]) => placesIn(key, entry).map((place) => `${name}.${place}`));
  }
  return isPlace(name, value) ? [`${name}=${placeOf(String(value))}`] : [];
}
