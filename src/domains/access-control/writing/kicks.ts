import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect } from '../policy/access-model.ts';
import type { Kick } from './access-plan.ts';
import type { BlastRadius } from './access-report.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import type { PolicyDraft } from './policy-draft.ts';

/**
 * Whom a broker disconnects when it carries out a command on the policy as it is then (`draft`, before the command).
 *
 * Facts of Mosquitto 2.0.11 (`mosquitto_kick_client_by_username` in clients.c, groups.c and roles.c of its plugin) and 2.1: a
 * command on an account disconnects that account; one on a group its members, of the anonymous group also everybody without
 * user name; one on a role its holders, directly and by groups. What only makes or enables something disconnects nobody.
 * `modifyRole` never does in 2.0; in 2.1 with rules, or when it changes the flag.
 *
 * A holder that another tool made with `roles` in `createClient` is unknown to its role until the broker restarts, and is then
 * not disconnected by commands on the role, although named here.
 */
export function kickOf(
  draft: PolicyDraft,
  dialect: AccessDialect,
  write: DynsecWrite,
  gatewayUsername: string | null,
): Kick {
  const { usernames, anonymous } = kickedBy(draft, dialect, write);
  const gateway = gatewayUsername === null ? anonymous : usernames.includes(gatewayUsername);
  return { usernames, anonymous, gateway };
}

type Kicked = Omit<Kick, 'gateway'>;

const NOBODY: Kicked = { usernames: [], anonymous: false };

function kickedBy(draft: PolicyDraft, dialect: AccessDialect, write: DynsecWrite): Kicked {
  switch (write.command) {
    case 'createClient':
    case 'enableClient':
    case 'createGroup':
    case 'createRole':
    case 'setDefaultACLAccess':
      return NOBODY;
    case 'modifyClient':
    case 'setClientPassword':
    case 'deleteClient':
    case 'disableClient':
    case 'addClientRole':
    case 'removeClientRole':
    case 'addGroupClient':
    case 'removeGroupClient':
      return { usernames: [write.fields.username], anonymous: false };
    case 'modifyGroup': {
      const { groupname, clients = [] } = write.fields;
      const { usernames, anonymous } = membersOf(draft, groupname);
      return { usernames: [...new Set([...usernames, ...clients.map(({ username }) => username)])], anonymous };
    }
    case 'deleteGroup':
    case 'addGroupRole':
    case 'removeGroupRole':
      return membersOf(draft, write.fields.groupname);
    case 'setAnonymousGroup':
      return { usernames: [], anonymous: true };
    case 'modifyRole': {
      const { rolename, acls, allowwildcardsubs } = write.fields;
      const isFelt = acls !== undefined || allowwildcardsubs !== undefined;
      return dialect.disconnectsOnRoleAcls && isFelt ? holdersOf(draft, rolename) : NOBODY;
    }
    case 'deleteRole':
    case 'addRoleACL':
    case 'removeRoleACL':
      return holdersOf(draft, write.fields.rolename);
  }
}

function membersOf(draft: PolicyDraft, groupname: string): Kicked {
  return { usernames: draft.membersOf(groupname), anonymous: draft.anonymousGroup === groupname };
}

function holdersOf(draft: PolicyDraft, rolename: string): Kicked {
  const groups = draft.groupsWith(rolename);
  return { usernames: draft.holdersOf(rolename), anonymous: groups.some((name) => draft.anonymousGroup === name) };
}

/** Who is connected, as far as the broker can tell. */
export interface ConnectedNow {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  /** False: there may be others. */
  readonly isComplete: boolean;
}

export function* blastRadius(kicks: Iterable<Kick>, connected: ConnectedNow): SlicedTask<BlastRadius> {
  /** Commands on one group or role share their list. */
  const lists = new Set<readonly string[]>();
  const usernames = new Set<string>();
  let anonymous = false;
  let gateway = false;
  for (const kick of kicks) {
    if (!lists.has(kick.usernames)) for (const username of kick.usernames) usernames.add(username);
    lists.add(kick.usernames);
    anonymous ||= kick.anonymous;
    gateway ||= kick.gateway;
    yield;
  }
  return {
    clients: connected.clients.filter(({ username }) => (username === null ? anonymous : usernames.has(username))),
    usernames: [...usernames].sort(),
    anonymous,
    gateway,
    isComplete: connected.isComplete,
  };
}
