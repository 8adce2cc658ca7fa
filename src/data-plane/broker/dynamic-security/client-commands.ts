import type { Account, Membership } from '../../../protocol/apis/access-control/access-model.ts';
import { type Fields, fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { type AccessState, withoutMembership } from './access-state.ts';
import { checkName, lenientText, modifiedTexts, newTexts, optionalText, requiredName } from './command-fields.ts';
import { type CommandTable, found, pageOf, withRoom } from './command-table.ts';
import {
  addMembership,
  checkCount,
  holds,
  namedEntries,
  priorityOf,
  rolesOf,
  sortMemberships,
} from './membership-fields.ts';
import { clientResponse } from './object-responses.ts';

/** Commands for clients. Error texts and the order of checks are the same as in Mosquitto 2.1. */
export const CLIENT_COMMANDS: CommandTable = {
  createClient(command, { state, passwordHash }) {
    if (requiredText(command, 'username') === '') throw new ControlRefusal('Empty username');
    const username = requiredName(command, 'username');
    optionalText(command, 'password');
    const clientId = optionalText(command, 'clientid', 'client id');
    if (clientId !== undefined) checkClientId(command);
    const texts = newTexts(command);
    const { clients } = state.policy;
    if (clients.has(username)) throw new ControlRefusal('Client already exists');
    if (clients.size >= state.limits.clients) throw new ControlRefusal('Too many clients');
    const client: Account = {
      username,
      clientId: clientId || null,
      ...texts,
      disabled: false,
      roles: rolesOf(command, state) ?? [],
      groups: newGroups(command, state),
    };
    state.putClient(withRoom(state, client));
    const hash = passwordHash(command);
    if (hash !== null) state.putPasswordHash(username, hash);
  },

  deleteClient(command, { state, kick }) {
    const { username } = find(state, requiredText(command, 'username'));
    state.removeClient(username);
    kick(username);
  },

  enableClient(command, { state }) {
    state.putClient({ ...find(state, requiredName(command, 'username')), disabled: false });
  },

  disableClient(command, { state, kick }) {
    const client = find(state, requiredName(command, 'username'));
    state.putClient({ ...client, disabled: true });
    kick(client.username);
  },

  getClient(command, { state, addresses }) {
    const client = find(state, requiredName(command, 'username'));
    return { client: clientResponse(client, addresses) };
  },

  listClients(command, { state, addresses }) {
    const { clients } = state.policy;
    const listed = pageOf(command, state, clients, (client) => clientResponse(client, addresses));
    return { totalCount: clients.size, clients: listed };
  },

  modifyClient(command, { state, passwordHash, kick }) {
    const client = find(state, requiredName(command, 'username'));
    const clientId = lenientText(command, 'clientid');
    // Mosquitto accepts control characters here. Lone surrogates cannot be stored.
    if (/\p{Cs}/u.test(String(fieldOf(command, 'clientid')))) throw new ControlRefusal('Client ID not valid UTF-8');
    const modified: Account = {
      ...client,
      clientId: clientId === undefined ? client.clientId : clientId || null,
      ...modifiedTexts(command, client),
      roles: rolesOf(command, state) ?? client.roles,
      groups: replacedGroups(command, state) ?? client.groups,
    };
    state.putClient(withRoom(state, modified, client));
    const hash = passwordHash(command);
    if (hash !== null) state.putPasswordHash(client.username, hash);
    kick(client.username);
  },

  setClientId(command, { state, kick }) {
    const username = requiredName(command, 'username');
    const clientId = optionalText(command, 'clientid', 'client ID');
    if (clientId !== undefined) checkClientId(command);
    const client = find(state, username);
    state.putClient(withRoom(state, { ...client, clientId: clientId || null }, client));
    kick(username);
  },

  setClientPassword(command, { state, passwordHash, kick }) {
    const username = requiredName(command, 'username');
    if (requiredText(command, 'password') === '') throw new ControlRefusal('Empty password is not allowed');
    find(state, username);
    const hash = passwordHash(command);
    if (hash === null) throw new ControlRefusal('Invalid/missing password');
    state.putPasswordHash(username, hash);
    kick(username);
  },

  addClientRole(command, { state, kick }) {
    const username = requiredName(command, 'username');
    const name = requiredName(command, 'rolename');
    const client = find(state, username);
    found(state.policy.roles, name, 'Role');
    if (holds(client.roles, name)) throw new ControlRefusal('Internal error');
    const roles = addMembership(client.roles, { name, priority: priorityOf(command) }, state);
    state.putClient(withRoom(state, { ...client, roles }, client));
    kick(username);
  },

  removeClientRole(command, { state, kick }) {
    const username = requiredName(command, 'username');
    const name = requiredName(command, 'rolename');
    const client = find(state, username);
    found(state.policy.roles, name, 'Role');
    state.putClient({ ...client, roles: withoutMembership(client.roles, name) });
    kick(username);
  },
};

const find = ({ policy }: AccessState, username: string): Account => found(policy.clients, username, 'Client');

/** Checks the client id before `checkText` replaces lone surrogates. */
const checkClientId = (fields: Fields): string => checkName(String(fieldOf(fields, 'clientid')), 'Client ID');

function newGroups(fields: Fields, state: AccessState): readonly Membership[] {
  const groups = new Map<string, Membership>();
  for (const { name, priority } of namedEntries(fields, 'groups', 'groupname') ?? []) {
    if (name === undefined) continue;
    found(state.policy.groups, name, 'Group');
    if (groups.has(name)) throw new ControlRefusal('Internal error');
    groups.set(name, { name, priority });
  }
  return checkCount(sortMemberships(groups.values()), state);
}

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
