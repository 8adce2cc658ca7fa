import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import type { AccessChange } from './access-change.ts';
import type { PlannedChange, PlannedCommand, TouchedObject } from './access-plan.ts';
import { changeIssues } from './change-validation.ts';
import { ControlRights } from './control-rights.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { GatewayAccount } from './gateway-account.ts';
import { kickOf } from './kicks.ts';
import {
  addClientGroup,
  addClientRole,
  deleteClient,
  putClient,
  removeClientGroup,
  removeClientRole,
} from './plan-client.ts';
import { setAnonymousGroup, setDefaultAcl } from './plan-defaults.ts';
import { addGroupRole, deleteGroup, putGroup, removeGroupRole } from './plan-group.ts';
import { deleteRole, putRole, putRoleAcl, removeRoleAcl } from './plan-role.ts';
import { PolicyDraft } from './policy-draft.ts';

export interface PlanOptions {
  /** The account that this service connects with; `null` if it connects without a user name. */
  readonly gatewayUsername: string | null;
  /** Whether the caller may change access to `$CONTROL/`; see ControlRights. Default: `true`. */
  readonly mayControl?: boolean;
}

/**
 * Plans the commands for a list of changes, each on the result of the previous ones.
 *
 * Values that the broker already has need no command, because most commands disconnect clients. An impossible change
 * has an error and no commands, and the following changes are planned without it.
 */
export class AccessPlanner {
  readonly #draft: PolicyDraft;
  readonly #dialect: AccessDialect;
  readonly #gateway: GatewayAccount;
  readonly #gatewayUsername: string | null;
  readonly #control: ControlRights | null;

  constructor(policy: AccessPolicy, dialect: AccessDialect, { gatewayUsername, mayControl = true }: PlanOptions) {
    this.#draft = new PolicyDraft(policy);
    this.#dialect = dialect;
    this.#gateway = new GatewayAccount(policy, dialect, gatewayUsername);
    this.#gatewayUsername = gatewayUsername;
    this.#control = mayControl ? null : new ControlRights(gatewayUsername);
  }

  /** The policy after all planned commands. The object changes with each call of `next`. */
  get after(): AccessPolicy {
    return this.#draft;
  }

  next(change: AccessChange): PlannedChange {
    const draft = this.#draft;
    const undo = draft.checkpoint();
    try {
      const commands = writesOf(draft, this.#dialect, change).map((write) => {
        this.#gateway.checkWrite(write);
        const command = annotated(draft, this.#dialect, write, this.#gatewayUsername);
        if (this.#control) this.#control.run(draft, command);
        else draft.run(write);
        return command;
      });
      this.#gateway.checkChange(commands, draft);
      return { change, commands, error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      undo();
      return { change, commands: [], error };
    }
  }
}

/** Errors: see PlannedChange. */
function writesOf(draft: PolicyDraft, dialect: AccessDialect, change: AccessChange): DynsecWrite[] {
  const issues = changeIssues(change);
  if (issues.length > 0) throw invalid(issues);
  switch (change.kind) {
    case 'PUT_CLIENT':
      return putClient(draft, change);
    case 'DELETE_CLIENT':
      return deleteClient(draft, change);
    case 'ADD_CLIENT_ROLE':
      return addClientRole(draft, change);
    case 'REMOVE_CLIENT_ROLE':
      return removeClientRole(draft, change);
    case 'ADD_CLIENT_GROUP':
      return addClientGroup(draft, change);
    case 'REMOVE_CLIENT_GROUP':
      return removeClientGroup(draft, change);
    case 'PUT_GROUP':
      return putGroup(draft, change);
    case 'DELETE_GROUP':
      return deleteGroup(draft, change);
    case 'ADD_GROUP_ROLE':
      return addGroupRole(draft, change);
    case 'REMOVE_GROUP_ROLE':
      return removeGroupRole(draft, change);
    case 'PUT_ROLE':
      return putRole(draft, dialect, change);
    case 'DELETE_ROLE':
      return deleteRole(draft, change);
    case 'PUT_ROLE_ACL':
      return putRoleAcl(draft, dialect, change);
    case 'REMOVE_ROLE_ACL':
      return removeRoleAcl(draft, change);
    case 'SET_DEFAULT_ACL':
      return setDefaultAcl(draft, change);
    case 'SET_ANONYMOUS_GROUP':
      return setAnonymousGroup(draft, change);
  }
}

function annotated(
  draft: PolicyDraft,
  dialect: AccessDialect,
  write: DynsecWrite,
  gatewayUsername: string | null,
): PlannedCommand {
  return { ...write, touches: touchedBy(draft, write), kicks: kickOf(draft, dialect, write, gatewayUsername) };
}

function touchedBy(draft: PolicyDraft, write: DynsecWrite): readonly TouchedObject[] {
  switch (write.command) {
    case 'setDefaultACLAccess':
      return [{ kind: 'DEFAULT_ACL' }];
    case 'setAnonymousGroup':
      return [{ kind: 'ANONYMOUS_GROUP' }];
    case 'deleteGroup': {
      const { groupname } = write.fields;
      return [{ kind: 'GROUP', name: groupname }, ...clients(draft.membersOf(groupname))];
    }
    case 'modifyGroup': {
      const { groupname, clients: members } = write.fields;
      const touched = members === undefined ? [] : [...draft.membersOf(groupname), ...members.map(usernameOf)];
      return [{ kind: 'GROUP', name: groupname }, ...clients(touched)];
    }
    case 'createGroup':
    case 'addGroupRole':
    case 'removeGroupRole':
      return [{ kind: 'GROUP', name: write.fields.groupname }];
    case 'createRole':
    case 'modifyRole':
    case 'deleteRole':
    case 'addRoleACL':
    case 'removeRoleACL':
      return [{ kind: 'ROLE', name: write.fields.rolename }];
    default:
      return clients([write.fields.username]);
  }
}

const usernameOf = ({ username }: { readonly username: string }): string => username;
const clients = (usernames: readonly string[]): TouchedObject[] =>
  [...new Set(usernames)].map((name) => ({ kind: 'CLIENT', name }));
