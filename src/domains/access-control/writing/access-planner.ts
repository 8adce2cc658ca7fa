import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { AccessDialect, AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessChange, ChangeOf } from './access-change.ts';
import type { PlannedChange, PlannedCommand, TouchedObject } from './access-plan.ts';
import { changeIssues } from './change-validation.ts';
import { ControlRights } from './control-rights.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { GatewayAccount } from './gateway-account.ts';
import { kickOf } from './kicks.ts';
import { withPriorities } from './membership-priorities.ts';
import { CLIENT_PLANS } from './plan-client.ts';
import { GROUP_PLANS } from './plan-group.ts';
import type { Plans } from './plan-references.ts';
import { ROLE_PLANS } from './plan-role.ts';
import { PolicyDraft } from './policy-draft.ts';
import { previousValues } from './previous-values.ts';

/**
 * Plans a list of changes, each on the result of the previous ones. Values that the broker already has need no command,
 * because most commands disconnect clients.
 */
export class AccessPlanner {
  readonly #draft: PolicyDraft;
  readonly #dialect: AccessDialect;
  readonly #gateway: GatewayAccount;
  readonly #gatewayUsername: string | null;
  readonly #control: ControlRights;

  constructor(policy: AccessPolicy, dialect: AccessDialect, gatewayUsername: string | null) {
    this.#draft = new PolicyDraft(policy);
    this.#dialect = dialect;
    this.#gateway = new GatewayAccount(policy, dialect, gatewayUsername);
    this.#gatewayUsername = gatewayUsername;
    this.#control = new ControlRights(gatewayUsername);
  }

  /** Changes with each call of `next`. */
  get after(): AccessPolicy {
    return this.#draft;
  }

  /** Without `mayControl`, ControlRights refuses changes of rights on `$CONTROL/`. */
  next(change: AccessChange, mayControl: boolean): PlannedChange {
    const draft = this.#draft;
    const before = previousValues(draft, change);
    const undo = draft.checkpoint();
    try {
      const commands = writesOf(draft, this.#dialect, change).map((write) => {
        this.#gateway.checkWrite(write);
        const kicks = kickOf(draft, this.#dialect, write, this.#gatewayUsername);
        const command: PlannedCommand = { ...write, touches: touchedBy(draft, write), kicks };
        if (mayControl) draft.run(write);
        else this.#control.run(draft, command);
        return command;
      });
      this.#gateway.checkChange(commands, draft);
      return { change, commands, before, error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      undo();
      return { change, commands: [], before, error };
    }
  }
}

const PLANS: Plans<AccessChange['kind']> = { ...CLIENT_PLANS, ...GROUP_PLANS, ...ROLE_PLANS };

function writesOf(draft: PolicyDraft, dialect: AccessDialect, change: AccessChange): DynsecWrite[] {
  const issues = changeIssues(change);
  if (issues.length > 0) throw invalid(issues);
  return planned(draft, dialect, withPriorities(change, draft));
}

function planned<Kind extends AccessChange['kind']>(
  draft: PolicyDraft,
  dialect: AccessDialect,
  change: ChangeOf<Kind>,
): DynsecWrite[] {
  const plan = PLANS[change.kind] as Plans<Kind>[Kind];
  return plan(draft, change, dialect);
}

function touchedBy(draft: PolicyDraft, write: DynsecWrite): readonly TouchedObject[] {
  if (write.command === 'setDefaultACLAccess') return [{ kind: 'DEFAULT_ACL' }];
  if (write.command === 'setAnonymousGroup') return [{ kind: 'ANONYMOUS_GROUP' }];
  if ('username' in write.fields) return clients([write.fields.username]);
  if (!('groupname' in write.fields)) return [{ kind: 'ROLE', name: write.fields.rolename }];
  const { groupname } = write.fields;
  const added = write.command === 'modifyGroup' ? write.fields.clients : undefined;
  const hasNewMembers = write.command === 'deleteGroup' || added !== undefined;
  const members = hasNewMembers
    ? [...draft.membersOf(groupname), ...(added ?? []).map(({ username }) => username)]
    : [];
  return [{ kind: 'GROUP', name: groupname }, ...clients(members)];
}

const clients = (usernames: readonly string[]): TouchedObject[] =>
  [...new Set(usernames)].map((name) => ({ kind: 'CLIENT', name }));
