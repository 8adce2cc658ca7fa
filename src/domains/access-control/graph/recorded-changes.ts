import type { AccessChange } from '../writing/access-change.ts';
import type { ChangeOutcome, ChangeReport, WriteReport } from '../writing/access-report.ts';
import { type GraphFields, graphFields, nameFields } from '../writing/graph-fields.ts';

/** What the audit records of several changes, in addition to the input. The lists have the order of the changes. */
interface RecordedChanges {
  /** `null` if no change replaced anything. */
  readonly before: { readonly changes: readonly NamedValues[] } | null;
  readonly after: {
    /** Missing if the input has them. */
    readonly changes?: readonly NamedValues[];
    readonly outcomes: readonly ChangeOutcome[];
  };
}

/** By the name of the mutation, as in `changes` of `changeAccessControl`. `null` if there are no values. */
type NamedValues = Readonly<Record<string, GraphFields | null>>;

export interface NamedChange {
  readonly mutation: string;
  readonly change: AccessChange;
}

export function recordOf(requested: readonly NamedChange[], { changes: reports }: WriteReport): RecordedChanges {
  const previous = requested.map(({ mutation, change }, index) => {
    const before = replacedBy(reports[index]);
    return { [mutation]: before && { ...nameFields(change), ...before } };
  });
  return {
    before: reports.some((report) => replacedBy(report) !== null) ? { changes: previous } : null,
    after: { outcomes: reports.map(({ outcome }) => outcome) },
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
