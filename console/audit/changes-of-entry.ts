import type { Entry } from './audit-entry.ts';
import { type Difference, differencesOf, isPreview } from './differences.ts';

interface ChangeOfEntry {
  readonly operation: string;
  readonly name: string | null;
  /** `null` if all of the change was made, and in entries of earlier versions. */
  readonly outcome: 'REJECTED' | 'UNCHANGED' | 'PARTLY_APPLIED' | 'UNKNOWN' | null;
  readonly differences: readonly Difference[];
}

/** The changes of an entry that lists several. Empty for others. */
export function changesOf({ before, after, result }: Entry): readonly ChangeOfEntry[] {
  const [previous, requested, outcomes] = [
    listIn(before, 'changes'),
    listIn(after, 'changes'),
    listIn(after, 'outcomes'),
  ];
  return requested.map((change, index) => {
    // The last item of a truncated list is a text.
    if (typeof change !== 'object' || change === null) return { ...NOTHING, operation: String(change) };
    const [operation, input] = Object.entries(change)[0] ?? ['', null];
    const outcome = NOT_ALL.find((known) => known === outcomes[index]) ?? null;
    const name = nameIn(input);
    const differences = differencesOf({
      operation,
      before: memberOf(previous[index], operation),
      after: input,
      isDone: result === 'DONE' && !isPreview(after) && outcome !== 'REJECTED' && outcome !== 'UNCHANGED',
      targetId: null,
      targetName: name,
    });
    return { operation, name, outcome, differences };
  });
}

const NOT_ALL = ['REJECTED', 'UNCHANGED', 'PARTLY_APPLIED', 'UNKNOWN'] as const;

const NOTHING = { name: null, outcome: null, differences: [] } as const;

function listIn(value: unknown, key: string): readonly unknown[] {
  const list = memberOf(value, key);
  return Array.isArray(list) ? list : [];
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;

/** The first name is that of the changed object, the second one that of a role or group. */
function nameIn(input: unknown): string | null {
  const names = ['username', 'groupName', 'roleName'].map((key) => memberOf(input, key));
  return names.find((name) => typeof name === 'string') ?? null;
}
