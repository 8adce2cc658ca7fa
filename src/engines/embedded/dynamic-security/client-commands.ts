import type { AccessClient, Membership } from '../../../domains/access-control/policy/access-model.ts';
import { type Fields, fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { AccessState } from './access-state.ts';
import { checkName, lenientText, optionalText, pageOf, requiredRolename, requiredUsername } from './command-fields.ts';
import { type CommandTable, requireRoom } from './command-table.ts';
import {
  addMembership,
  checkCount,
  holds,
  namedEntries,
  priorityOf,
  rolesOf,
  sortMemberships,
  withoutMembership,
} from './membership-fields.ts';
import { clientResponse } from './object-responses.ts';

/** Commands for clients. Error texts and the order of checks are the same as in Mosquitto 2.1. */
export const CLIENT_COMMANDS: CommandTable = {
  createClient(command, { state, passwordHash }) {
    if (requiredText(command, 'username') === '') throw new ControlRefusal('Empty username');
    const username = requiredUsername(command);
    optionalText(command, 'password');
    const clientId = optionalText(command, 'clientid', 'client id');
    if (clientId !== undefined) checkClientId(command);
    const textName = optionalText(command, 'textname') ?? null;
    const textDescription = optionalText(command, 'textdescription') ?? null;
    const { clients } = state.policy;
    if (clients.has(username)) throw new ControlRefusal('Client already exists');
    if (clients.size >= state.limits.clients) throw new ControlRefusal('Too many clients');
    const client: AccessClient = {
      username,
      clientId: clientId || null,
      textName,
      textDescription,
      disabled: false,
      roles: rolesOf(command, state) ?? [],
      groups: newGroups(command, state),
    };
    requireRoom(state, client);
    state.putClient(client);
    const hash = passwordHash(command);
    if (hash !== null) state.putPasswordHash(username, hash);
  },

  deleteClient(command, { state, kick }) {
    const { username } = find(state, requiredText(command, 'username'));
    state.removeClient(username);
    kick(username);
  },

  enableClient(command, { state }) {
    state.putClient({ ...find(state, requiredUsername(command)), disabled: false });
  },

  disableClient(command, { state, kick }) {
    const client = find(state, requiredUsername(command));
    state.putClient({ ...client, disabled: true });
    kick(client.username);
  },

  getClient(command, { state, addresses }) {
    const client = find(state, requiredUsername(command));
    return { client: clientResponse(client, addresses(client.username)) };
  },

  listClients(command, { state, addresses }) {
    const { verbose, offset, end } = pageOf(command);
    const { clients } = state.policy;
    const names = state.names(clients).slice(offset, end);
    const listed = verbose ? names.map((name) => clientResponse(find(state, name), addresses(name))) : names;
    return { totalCount: clients.size, clients: listed };
  },

  modifyClient(command, { state, passwordHash, kick }) {
    const client = find(state, requiredUsername(command));
    const clientId = lenientText(command, 'clientid');
    // Mosquitto accepts control characters here. Lone surrogates cannot be stored.
    if (/\p{Cs}/u.test(String(fieldOf(command, 'clientid')))) throw new ControlRefusal('Client ID not valid UTF-8');
    const modified: AccessClient = {
      ...client,
      clientId: clientId === undefined ? client.clientId : clientId || null,
      textName: lenientText(command, 'textname') ?? client.textName,
      textDescription: lenientText(command, 'textdescription') ?? client.textDescription,
      roles: rolesOf(command, state) ?? client.roles,
      groups: replacedGroups(command, state) ?? client.groups,
    };
    requireRoom(state, modified, client);
    state.putClient(modified);
    const hash = passwordHash(command);
    if (hash !== null) state.putPasswordHash(client.username, hash);
    kick(client.username);
  },

  setClientId(command, { state, kick }) {
    const username = requiredUsername(command);
    const clientId = optionalText(command, 'clientid', 'client ID');
    if (clientId !== undefined) checkClientId(command);
    const client = find(state, username);
    const changed = { ...client, clientId: clientId || null };
    requireRoom(state, changed, client);
    state.putClient(changed);
    kick(username);
  },

  setClientPassword(command, { state, passwordHash, kick }) {
    const username = requiredUsername(command);
    if (requiredText(command, 'password') === '') throw new ControlRefusal('Empty password is not allowed');
    find(state, username);
    const hash = passwordHash(command);
    if (hash === null) throw new ControlRefusal('Invalid/missing password');
    state.putPasswordHash(username, hash);
    kick(username);
  },

  addClientRole(command, { state, kick }) {
    const username = requiredUsername(command);
    const name = requiredRolename(command);
    const client = find(state, username);
    if (!state.policy.roles.has(name)) throw new ControlRefusal('Role not found');
    // The error text of Mosquitto.
    if (holds(client.roles, name)) throw new ControlRefusal('Internal error');
    const roles = addMembership(client.roles, { name, priority: priorityOf(command) }, state);
    requireRoom(state, { ...client, roles }, client);
    state.putClient({ ...client, roles });
    kick(username);
  },

  removeClientRole(command, { state, kick }) {
    const username = requiredUsername(command);
    const name = requiredRolename(command);
    const client = find(state, username);
    if (!state.policy.roles.has(name)) throw new ControlRefusal('Role not found');
    state.putClient({ ...client, roles: withoutMembership(client.roles, name) });
    kick(username);
  },
};

function find({ policy }: AccessState, username: string): AccessClient {
  const client = policy.clients.get(username);
  if (!client) throw new ControlRefusal('Client not found');
  return client;
}

/** Checks the client id before `checkText` replaces lone surrogates. */
const checkClientId = (fields: Fields): string => checkName(String(fieldOf(fields, 'clientid')), 'Client ID');

function newGroups(fields: Fields, state: AccessState): readonly Membership[] {
  const groups = new Map<string, Membership>();
  for (const { name, priority } of namedEntries(fields, 'groups', 'groupname') ?? []) {
    if (name === undefined) continue;
    if (!state.policy.groups.has(name)) throw new ControlRefusal('Group not found');
    if (groups.has(name)) throw new ControlRefusal('Internal error');
    groups.set(name, { name, priority });
  }
  return checkCount(sortMemberships(groups.values()), state);
}

/** `undefined` if there is no list. */
function replacedGroups(fields: Fields, state: AccessState): readonly Membership[] | undefined {
  const entries = namedEntries(fields, 'groups', 'groupname');
  if (!entries) return undefined;
  const groups = new Map<string, Membership>();
  for (const { name, priority } of entries) {
    if (name === undefined) throw new ControlRefusal("'groups' contains an object with an invalid 'groupname'");
    if (!state.policy.groups.has(name)) {
      throw new ControlRefusal("'groups' contains an object with a 'groupname' that does not exist");
    }
    if (!groups.has(name)) groups.set(name, { name, priority });
  }
  return checkCount(sortMemberships(groups.values()), state);
}
