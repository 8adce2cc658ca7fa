import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect } from '../../../protocol/apis/access-control/access-model.ts';
import type { Kick } from './access-plan.ts';
import type { BlastRadius, ChangeProgress } from './access-report.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import type { PolicyDraft } from './policy-draft.ts';
import { isOutage } from './read-back.ts';

/**
 * Connections that a broker closes when it executes a command (Mosquitto 2.0.11, `mosquitto_kick_client_by_username` in
 * clients.c, groups.c and roles.c of the plugin; and 2.1). `draft` is the policy before the command. A client that
 * another tool created with `roles` is not registered with them until the broker restarts, but is listed here.
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

const NO_CONNECTIONS: Kicked = { usernames: [], anonymous: false };

function kickedBy(draft: PolicyDraft, dialect: AccessDialect, write: DynsecWrite): Kicked {
  switch (write.command) {
    case 'createClient':
    case 'enableClient':
    case 'createGroup':
    case 'createRole':
    case 'setDefaultACLAccess':
      return NO_CONNECTIONS;
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
      const changesAccess = acls !== undefined || allowwildcardsubs !== undefined;
      return dialect.disconnectsOnRoleAcls && changesAccess ? holdersOf(draft, rolename) : NO_CONNECTIONS;
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

/**
 * The clients that the broker disconnects because of the commands that it received, or may have received. Before the
 * first command is sent, those of all planned commands.
 */
export function* kicksOf(progress: readonly ChangeProgress[]): Generator<Kick> {
  for (const { commands } of progress) {
    for (const { command, state, error } of commands) {
      if (state !== 'NOT_SENT' && !(state === 'REJECTED' && isOutage(error))) yield command.kicks;
    }
  }
}

type ConnectedClient = BlastRadius['clients'][number];

export type ConnectedNow = Pick<BlastRadius, 'clients' | 'isComplete'>;

interface ConnectedByAccount {
  readonly clients: ReadonlyMap<string | null, readonly ConnectedClient[]>;
  readonly isComplete: boolean;
}

export function connectedByAccount({ clients, isComplete }: ConnectedNow): ConnectedByAccount {
  const byAccount = new Map<string | null, ConnectedClient[]>();
  for (const client of clients) {
    const list = byAccount.get(client.username);
    if (list) list.push(client);
    else byAccount.set(client.username, [client]);
  }
  return { clients: byAccount, isComplete };
}

/** `clients` is sorted by user name; clients without a user name are last. */
export function* blastRadius(kicks: Iterable<Kick>, connected: ConnectedByAccount): SlicedTask<BlastRadius> {
  /** Commands on one group or role share one list object. */
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
  const sorted = [...usernames].sort();
  const accounts = anonymous ? [...sorted, null] : sorted;
  return {
    clients: accounts.flatMap((username) => connected.clients.get(username) ?? []),
    usernames: sorted,
    anonymous,
    gateway,
    isComplete: connected.isComplete,
  };
}
