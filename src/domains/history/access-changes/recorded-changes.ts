export interface RecordedEntry {
  readonly at: Date;
  readonly operation: string;
  readonly result: string;
  readonly after: string | null;
}

type Values = Readonly<Record<string, unknown>>;

interface RecordedChanges {
  /** What the broker executed, with the name of the mutation of each change. */
  readonly changes: [string, Values][];
  readonly isWhole: boolean;
}

/** The changes of access control in an entry of the audit. A dry run has none. */
export function changesIn({ operation, result, after }: RecordedEntry): RecordedChanges {
  if (result === 'UNKNOWN') return { changes: [], isWhole: false };
  const input = valuesOf(after === null ? null : JSON.parse(after));
  if (input.dryRun === true) return { changes: [], isWhole: true };
  if (!Array.isArray(input.changes)) {
    const isWhole = 'change' in input || operation.endsWith('Acl') || operation === 'setAnonymousGroup';
    return { changes: [[operation, valuesOf(input.change)]], isWhole };
  }
  const outcomes = Array.isArray(input.outcomes) ? input.outcomes : [];
  const changes = input.changes.flatMap((change: unknown, index): [string, Values][] =>
    outcomes[index] === 'APPLIED'
      ? Object.entries(valuesOf(change)).map(([mutation, values]) => [mutation, valuesOf(values)])
      : [],
  );
  // The audit replaces the end of a long list by a text.
  const isWhole = [...input.changes, ...changes.map(([, values]) => values)].every((part) => typeof part === 'object');
  const isClear = outcomes.every((outcome) => outcome !== 'PARTLY_APPLIED' && outcome !== 'UNKNOWN');
  return { changes, isWhole: isWhole && isClear && outcomes.length >= input.changes.length };
}

const valuesOf = (value: unknown): Values => (typeof value === 'object' && value !== null ? (value as Values) : {});
