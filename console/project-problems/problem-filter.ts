import type { VariablesOf } from '../graph/graphql.ts';
import { SEVERITIES } from '../problems/open-problems.ts';
import type { CLOSED, ShownProblem } from '../problems/operations.ts';
import { KINDS } from '../problems/project-kinds.ts';

export const STATES = ['open', 'closed', 'all'] as const;
export const CHOICES = ['yes', 'no'] as const;

/** Names of the values in the address. */
export const KEYS = ['severity', 'kind', 'broker', 'acknowledged', 'silenced', 'state', 'from', 'to'] as const;

/** Which problems the screen shows; `null`: any. */
export interface Wanted {
  readonly state: (typeof STATES)[number];
  readonly severity: ShownProblem['severity'] | null;
  readonly kind: ShownProblem['kind'] | null;
  readonly brokerId: string | null;
  readonly isAcknowledged: boolean | null;
  readonly isSilenced: boolean | null;
  /** The problem opened or closed at this time or later, and before `to`. */
  readonly from: string | null;
  readonly to: string | null;
}

export function wantedIn(address: URLSearchParams): Wanted {
  const value = (key: (typeof KEYS)[number]) => address.get(key);
  const time = (key: 'from' | 'to') => (Number.isNaN(Date.parse(value(key) ?? '')) ? null : value(key));
  const choice = (key: 'acknowledged' | 'silenced') => {
    const chosen = CHOICES.find((known) => known === value(key));
    return chosen === undefined ? null : chosen === 'yes';
  };
  return {
    state: STATES.find((known) => known === value('state')) ?? 'open',
    severity: SEVERITIES.find((known) => known === value('severity')) ?? null,
    kind: KINDS.find((known) => known === value('kind')) ?? null,
    brokerId: value('broker'),
    isAcknowledged: choice('acknowledged'),
    isSilenced: choice('silenced'),
    from: time('from'),
    to: time('to'),
  };
}

/** Whether an open problem is shown. */
export function isWanted(wanted: Wanted, problem: ShownProblem): boolean {
  const { severity, kind, brokerId, isAcknowledged, isSilenced, from, to } = wanted;
  const opened = Date.parse(problem.openedAt);
  return (
    (severity === null || problem.severity === severity) &&
    (kind === null || problem.kind === kind) &&
    (brokerId === null || problem.broker?.id === brokerId) &&
    (isAcknowledged === null || (problem.acknowledgement !== null) === isAcknowledged) &&
    (isSilenced === null || problem.isSilenced === isSilenced) &&
    (from === null || opened >= Date.parse(from)) &&
    (to === null || opened < Date.parse(to))
  );
}

/** The same for closed problems, which the service filters. */
export function closedFilter(wanted: Wanted): NonNullable<VariablesOf<typeof CLOSED>['filter']> {
  const { severity, kind, brokerId, isAcknowledged, isSilenced, from, to } = wanted;
  return {
    isOpen: false,
    isAcknowledged,
    isSilenced,
    from,
    to,
    ...(severity !== null && { severities: [severity] }),
    ...(kind !== null && { kinds: [kind] }),
    ...(brokerId !== null && { brokerIds: [brokerId] }),
  };
}
