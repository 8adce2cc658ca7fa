import { type DiffLine, diffOf } from '../messages/diff.ts';

export interface Difference {
  readonly key: string;
  readonly lines: readonly DiffLine[];
}

interface Values {
  readonly operation: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly isDone: boolean;
  readonly targetId: string | null;
  readonly targetName: string | null;
}

/** Where and how the operation was executed, and lists of changes: they are no values of its target. */
const OF_REQUEST: ReadonlySet<string> = new Set([
  'brokerId',
  'projectId',
  'dryRun',
  'mustApply',
  'outcome',
  'outcomes',
  'changes',
  'count',
]);

/** Identify the target, if they have its name. */
const OF_TARGET: ReadonlySet<string> = new Set(['username', 'groupName', 'roleName', 'clientId']);

const DELETES = /^(?:delete|revoke|removeAclRule|remove\w+Member)/;

/** The fields of the previous values and of the input, in the order in which they occur. */
export function differencesOf({ operation, before, after, isDone, targetId, targetName }: Values): Difference[] {
  const [previous, requested] = [fieldsOf(before), fieldsOf(after)];
  const isTarget = (key: string) =>
    (!previous.has(key) && requested.get(key) === targetId) ||
    (OF_TARGET.has(key) && requested.get(key) === targetName && (previous.get(key) ?? targetName) === targetName);
  const keys = [...new Set([...previous.keys(), ...requested.keys()])].filter(
    (key) => !OF_REQUEST.has(key) && !isTarget(key),
  );
  return keys.map((key) => {
    const [old, now] = [previous.get(key), requested.get(key)];
    if (old !== undefined && now !== undefined) return { key, lines: diffOf(old, now) };
    // The input of a deletion identifies the object. Other operations keep previous values that are not in the input.
    const changed = DELETES.test(operation) ? { kind: 'removed', value: old } : { kind: 'added', value: now };
    const value = old ?? now ?? '';
    const kind = isDone && changed.value !== undefined ? (changed.kind as DiffLine['kind']) : 'same';
    return { key, lines: value.split('\n').map((text) => ({ kind, text })) };
  });
}

/** As text, by name. The input of a change of access control is one level deeper. */
export function fieldsOf(value: unknown): ReadonlyMap<string, string> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) return new Map([['value', textOf(value)]]);
  const { change, ...others } = value as Readonly<Record<string, unknown>>;
  const isNested = typeof change === 'object' && change !== null;
  const fields = isNested ? { ...others, ...change } : value;
  return new Map(Object.entries(fields).map(([key, field]) => [key, textOf(field)]));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, inOrder, 1));

/** The order of keys is no difference. */
const inOrder = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Whether an operation only said what it would have done. */
export const isPreview = (after: unknown): boolean =>
  typeof after === 'object' && after !== null && (after as { readonly dryRun?: unknown }).dryRun === true;
