import type { AccessChange } from '../writing/access-change.ts';
import type { BlastRadius, ChangeOutcome, ChangeReport, WriteReport } from '../writing/access-report.ts';
import { type GraphFields, graphFields, nameFields } from '../writing/graph-fields.ts';

/** What the audit records of several changes, in addition to the input. The lists have the order of the changes. */
interface RecordedChanges {
  /** `null` if no change replaced anything. */
  readonly before: { readonly changes: readonly NamedValues[] } | null;
  readonly after: {
    /** Missing if the input has them. */
    readonly changes?: readonly NamedValues[];
    readonly outcomes: readonly ChangeOutcome[];
  } & Disconnects;
}

/** For the events of the clients, which refer to their cause. */
interface Disconnects {
  /**
   * Accounts whose clients the change disconnected, `null` for clients without a user name. If not all connected
   * clients are known, also accounts that have none. Missing if there are none.
   */
  readonly disconnectedAccounts?: readonly (string | null)[];
}

/** By the name of the mutation, as in `changes` of `changeAccessControl`. `null` if there are no values. */
type NamedValues = Readonly<Record<string, GraphFields | null>>;

export interface NamedChange {
  readonly mutation: string;
  readonly change: AccessChange;
}

/** Accounts with known connections are first, because the audit shortens long lists. */
export function disconnectsOf(outcome: ChangeOutcome, { clients, usernames, ...of }: BlastRadius): Disconnects {
  const known = new Set<string | null>(clients.map(({ username }) => username));
  if (!of.isComplete) for (const username of of.anonymous ? [null, ...usernames] : usernames) known.add(username);
  return outcome === 'PLANNED' || known.size === 0 ? {} : { disconnectedAccounts: [...known] };
}

export function recordOf(
  requested: readonly NamedChange[],
  { outcome, changes: reports, blastRadius }: WriteReport,
): RecordedChanges {
  const previous = requested.map(({ mutation, change }, index) => {
    const before = replacedBy(reports[index]);
    return { [mutation]: before && { ...nameFields(change), ...before } };
  });
  return {
    before: reports.some((report) => replacedBy(report) !== null) ? { changes: previous } : null,
    after: { outcomes: reports.map((report) => report.outcome), ...disconnectsOf(outcome, blastRadius) },
  };
}

/** As `recordOf`, for changes that are not in the input. */
export function recordOfDerived(changes: readonly AccessChange[], report: WriteReport): RecordedChanges {
  const requested = changes.map((change) => ({ mutation: mutationOf(change), change }));
  const { before, after } = recordOf(requested, report);
  return {
    before,
    after: { changes: requested.map(({ mutation, change }) => ({ [mutation]: inputOf(change) })), ...after },
  };
}

/** Refused and unnecessary changes replaced nothing. */
const replacedBy = (report: ChangeReport | undefined): GraphFields | null =>
  report === undefined || report.outcome === 'REJECTED' || report.outcome === 'UNCHANGED' ? null : report.before;

function mutationOf(change: AccessChange): string {
  switch (change.kind) {
    case 'PUT_CLIENT':
      return `${change.mode.toLowerCase()}Account`;
    case 'PUT_GROUP':
      return `${change.mode.toLowerCase()}AccessGroup`;
    case 'PUT_ROLE':
      return `${change.mode.toLowerCase()}AccessRole`;
    case 'DELETE_CLIENT':
      return 'deleteAccount';
    case 'DELETE_GROUP':
      return 'deleteAccessGroup';
    case 'DELETE_ROLE':
      return 'deleteAccessRole';
    case 'SET_DEFAULT_ACL':
      return 'setDefaultAcl';
    case 'SET_ANONYMOUS_GROUP':
      return 'setAnonymousGroup';
    default:
      throw new Error(`No document requires a change ${change.kind}`);
  }
}

/** Passwords are masked by the audit. */
function inputOf(change: AccessChange): GraphFields {
  if (change.kind === 'SET_DEFAULT_ACL') return { ...change.acl };
  if (change.kind === 'SET_ANONYMOUS_GROUP') return { groupName: change.groupName };
  return { ...nameFields(change), ...('fields' in change ? graphFields(change.fields) : {}) };
}
