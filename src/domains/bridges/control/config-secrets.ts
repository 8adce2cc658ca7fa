import type { InputIssue } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { isDeeper } from '../../../platform/text/json-depth.ts';
import { pointerStep } from '../../../platform/text/json-schema.ts';
import { fieldsOf, isFields } from '../../../protocol/control/fields.ts';
import { AddressChanges, type Around, type Container } from './secret-addresses.ts';
import type { SecretPlace } from './secret-places.ts';
import { MASK, maskText, restoreText } from './secret-text.ts';

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
 * host. Yields for each value.
 */
export function* unmasked(given: unknown, stored: unknown, place: SecretPlace): SlicedTask<Unmasked> {
  if (!JSON.stringify(given).includes(MASK)) return { config: given, issues: [] };
  const issues: InputIssue[] = [];
  const restored: Restored[] = [];
  const config = yield* merge({ given, stored, place, path: '', around: null, issues, restored });
  const addresses = new AddressChanges();
  for (const { path, around } of restored) {
    yield;
    if (yield* addresses.isMoved(around)) issues.push({ path, reason: ELSEWHERE });
  }
  return { config, issues };
}

interface Restored {
  readonly path: string;
  readonly around: Around | null;
}

interface Merging {
  readonly given: unknown;
  readonly stored: unknown;
  readonly place: SecretPlace;
  readonly path: string;
  readonly around: Around | null;
  readonly issues: InputIssue[];
  readonly restored: Restored[];
}

const NOTHING_STORED = `must be given: there is no stored secret for "${MASK}"`;
const ELSEWHERE = `must be given again, because the host, the path of the web address, or the TLS settings changed: "${MASK}" keeps a secret only for the same ones`;

function* merge(merging: Merging): SlicedTask<unknown> {
  yield;
  const { given, stored, place, path, around } = merging;
  if (typeof given === 'string') return restore(given, merging);
  if (Array.isArray(given)) {
    const partners = partnersOf(given, stored);
    const list: unknown[] = [];
    for (const [index, entry] of given.entries()) {
      const at = { given: entry, stored: partners[index], place: place.item(index), path: `${path}/${index}` };
      list.push(yield* merge({ ...merging, ...at }));
    }
    return list;
  }
  if (isFields(given)) {
    const container: Container = { now: null, before: stored };
    const known = fieldsOf(stored);
    const entries: [string, unknown][] = [];
    for (const [key, entry] of Object.entries(given)) {
      const at = {
        given: entry,
        stored: Object.hasOwn(known, key) ? known[key] : undefined,
        place: place.key(key),
        path: `${path}/${pointerStep(key)}`,
        around: { container, key, outer: around },
      };
      entries.push([key, yield* merge({ ...merging, ...at })]);
    }
    container.now = Object.fromEntries(entries);
    return container.now;
  }
  return given;
}

function restore(given: string, { stored, place, path, around, issues, restored }: Merging): unknown {
  const isWhole = place.isSecret && given === MASK;
  const value = isWhole ? storedSecret(stored) : restoreText(given, stored);
  if (value === given && !isWhole) return given;
  if (value === null) issues.push({ path: path || '/', reason: NOTHING_STORED });
  else restored.push({ path: path || '/', around });
  return value ?? given;
}

const storedSecret = (stored: unknown): string | number | null =>
  (typeof stored === 'string' && stored !== '') || typeof stored === 'number' ? stored : null;

/** Each stored entry is the partner of at most one given entry. */
function partnersOf(given: readonly unknown[], stored: unknown): readonly unknown[] {
  if (!Array.isArray(stored)) return [];
  const byName = new Map<string, unknown[]>();
  for (const entry of stored.toReversed()) {
    const name = nameOf(entry);
    if (name === null) continue;
    const others = byName.get(name);
    if (others === undefined) byName.set(name, [entry]);
    else others.push(entry);
  }
  return given.map((entry, index) => {
    const name = nameOf(entry);
    if (name !== null) return byName.get(name)?.pop();
    return nameOf(stored[index]) === null ? stored[index] : undefined;
  });
}

const nameOf = (entry: unknown): string | null =>
  isFields(entry) && typeof entry.name === 'string' ? entry.name : null;
