import { graphql, type ResultOf } from '../graph/graphql.ts';

export const ENTRY = graphql(`fragment Entry on AuditEvent @_unmask {
  id
  sequence
  at
  actorKind
  actorName
  actorIssuer
  address
  via
  operation
  actorId
  targetKind
  targetId
  targetName
  project { id name }
  broker { id name }
  requestId
  result
  code
  before
  after
  hash
}`);

export type Entry = ResultOf<typeof ENTRY>;

interface EntriesEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'GAP' | 'RESUMED';
  readonly sequence: number;
  readonly auditEvents: readonly Entry[];
}

/** Entries since the page was opened. */
export interface NewEntries {
  /** The last entry before them. */
  readonly since: number;
  /** Newest first. */
  readonly entries: readonly Entry[];
}

/** More would make the page slow. They are on the next page after a reload. */
const MAX_ENTRIES = 500;

export function apply(before: NewEntries | null, { sequence, auditEvents }: EntriesEvent): NewEntries {
  if (before === null) return { since: sequence, entries: auditEvents.toReversed() };
  return { ...before, entries: [...auditEvents.toReversed(), ...before.entries].slice(0, MAX_ENTRIES) };
}
