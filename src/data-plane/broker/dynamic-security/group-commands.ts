import type { AccessGroup } from '../../../protocol/apis/access-control/access-model.ts';
import type { Fields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { type AccessState, membershipSize, withoutMembership } from './access-state.ts';
import { modifiedTexts, newTexts, requiredName } from './command-fields.ts';
import {
  type CommandContext,
  type CommandTable,
  found,
  kickMembers,
  NO_ROOM,
  pageOf,
  withRoom,
} from './command-table.ts';
import { addMembership, holds, namedEntries, priorityOf, rolesOf } from './membership-fields.ts';
import { groupResponse } from './object-responses.ts';

/** Commands for groups. Error texts and the order of checks are the same as in Mosquitto 2.1. */
export const GROUP_COMMANDS: CommandTable = {
  createGroup(command, { state }) {
    if (requiredText(command, 'groupname') === '') throw new ControlRefusal('Empty groupname');
    const groupname = requiredName(command, 'groupname');
    const texts = newTexts(command);
    const { groups } = state.policy;
    if (groups.has(groupname)) throw new ControlRefusal('Group already exists');
    if (groups.size >= state.limits.groups) throw new ControlRefusal('Too many groups');
    // Mosquitto returns this text for an invalid list.
    const roles = rolesOf(command, state, 'Internal error') ?? [];
    state.putGroup(withRoom(state, { groupname, ...texts, roles }));
  },

  deleteGroup(command, context) {
    const { state } = context;
    const { groupname } = find(state, requiredName(command, 'groupname'));
    if (state.policy.anonymousGroup === groupname) {
      throw new ControlRefusal('Deleting the anonymous group is forbidden');
    }
    kickMembers(groupname, context);
    state.removeGroup(groupname);
  },

  getGroup(command, { state }) {
    const group = find(state, requiredName(command, 'groupname'));
    return { group: groupResponse(group, state.members.of(group.groupname)) };
  },

  listGroups(command, { state }) {
    const { groups } = state.policy;
    const listed = pageOf(command, state, groups, (group) => groupResponse(group, state.members.of(group.groupname)));
    return { totalCount: groups.size, groups: listed };
  },

  modifyGroup(command, context) {
    const { state } = context;
    const group = find(state, requiredName(command, 'groupname'));
    const modified: AccessGroup = {
      ...group,
      ...modifiedTexts(command, group),
      roles: rolesOf(command, state) ?? group.roles,
    };
    const members = replacedMembers(command, group.groupname, state);
    withRoom(state, modified, group);
    if (members) {
      kickMembers(group.groupname, context);
      replaceMembers(state, group.groupname, members);
    }
    state.putGroup(modified);
    kickMembers(group.groupname, context);
  },

  addGroupClient(command, context) {
    const { state } = context;
    const { client, name } = clientAndGroup(command, context);
    if (holds(client.groups, name)) throw new ControlRefusal('Client is already in this group');
    const groups = addMembership(client.groups, { name, priority: priorityOf(command) }, state);
    state.putClient(withRoom(state, { ...client, groups }, client));
  },

  removeGroupClient(command, context) {
    const { client, name } = clientAndGroup(command, context);
    context.state.putClient({ ...client, groups: withoutMembership(client.groups, name) });
  },

  addGroupRole(command, context) {
    const { state } = context;
    const { group, rolename } = groupAndRole(command, state);
    if (holds(group.roles, rolename)) throw new ControlRefusal('Group is already in this role');
    const roles = addMembership(group.roles, { name: rolename, priority: priorityOf(command) }, state);
    state.putGroup(withRoom(state, { ...group, roles }, group));
    kickMembers(group.groupname, context);
  },

  removeGroupRole(command, context) {
    const { group, rolename } = groupAndRole(command, context.state);
    context.state.putGroup({ ...group, roles: withoutMembership(group.roles, rolename) });
    kickMembers(group.groupname, context);
  },

  setAnonymousGroup(command, { state, kick }) {
    const { groupname } = find(state, requiredName(command, 'groupname'));
    state.putSettings({ anonymousGroup: groupname });
    kick(null);
  },

  getAnonymousGroup(_command, { state }) {
    return { group: { groupname: state.policy.anonymousGroup ?? '' } };
  },
};

const find = ({ policy }: AccessState, groupname: string): AccessGroup => found(policy.groups, groupname, 'Group');

/** Disconnects the client, even if the command is refused. */
function clientAndGroup(fields: Fields, { state, kick }: CommandContext) {
  const username = requiredName(fields, 'username');
  const name = requiredName(fields, 'groupname');
  kick(username);
  const client = found(state.policy.clients, username, 'Client');
  find(state, name);
  return { client, name };
}

function groupAndRole(fields: Fields, state: AccessState) {
  const groupname = requiredName(fields, 'groupname');
  const rolename = requiredName(fields, 'rolename');
  const group = find(state, groupname);
  found(state.policy.roles, rolename, 'Role');
  return { group, rolename };
}

/** User names with the priority of the group; `undefined` if there is no list. */
function replacedMembers(fields: Fields, groupname: string, state: AccessState): Map<string, number> | undefined {
  const entries = namedEntries(fields, 'clients', 'username');
  if (!entries) return undefined;
  const members = new Map<string, number>();
  let joining = 0;
  for (const { name, priority } of entries) {
    if (name === undefined) throw new ControlRefusal("'clients' contains an object with an invalid 'username'");
    const client = state.policy.clients.get(name);
    if (!client) throw new ControlRefusal("'clients' contains an object with a 'username' that does not exist");
    if (members.has(name)) continue;
    members.set(name, priority);
    if (holds(client.groups, groupname)) continue;
    if (client.groups.length >= state.limits.memberships) throw new ControlRefusal('Too many roles or groups');
    joining += 1;
  }
  if (!state.hasRoomFor(joining * membershipSize(groupname))) throw new ControlRefusal(NO_ROOM);
  return members;
}

function replaceMembers(state: AccessState, name: string, members: ReadonlyMap<string, number>): void {
  const { clients } = state.policy;
  for (const username of state.members.of(name)) {
    const client = clients.get(username);
    if (client && !members.has(username)) {
      state.putClient({ ...client, groups: withoutMembership(client.groups, name) });
    }
  }
  for (const [username, priority] of members) {
    const client = clients.get(username);
    if (!client) continue;
    const groups = addMembership(withoutMembership(client.groups, name), { name, priority }, state);
    state.putClient({ ...client, groups });
  }
}
