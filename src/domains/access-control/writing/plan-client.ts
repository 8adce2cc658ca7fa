import type { Account, Membership } from '../../../protocol/apis/access-control/access-model.ts';
import type { ClientFields } from './access-change.ts';
import { type DynsecWrite, groupEntry, roleEntry } from './dynsec-writes.ts';
import {
  clientOf,
  differing,
  existing,
  groupOf,
  listDifference,
  type Plans,
  roleOf,
  textFields,
} from './plan-references.ts';

/** Changes a priority by replacing the whole list, which is one command instead of two. */
export const CLIENT_PLANS: Plans<
  'PUT_CLIENT' | 'DELETE_CLIENT' | 'ADD_CLIENT_ROLE' | 'REMOVE_CLIENT_ROLE' | 'ADD_CLIENT_GROUP' | 'REMOVE_CLIENT_GROUP'
> = {
  PUT_CLIENT(draft, { username, mode, fields }) {
    const client = existing(draft.clients, username, mode, 'client');
    for (const { name } of fields.roles ?? []) roleOf(draft, name);
    for (const { name } of fields.groups ?? []) groupOf(draft, name);
    return client ? updateClient(client, fields) : createClient(username, fields);
  },
  DELETE_CLIENT(draft, { username }) {
    clientOf(draft, username);
    return [{ command: 'deleteClient', fields: { username } }];
  },
  ADD_CLIENT_ROLE(draft, { username, role }) {
    const { roles } = clientOf(draft, username);
    roleOf(draft, role.name);
    const held = named(roles, role.name);
    if (!held) return [{ command: 'addClientRole', fields: { username, ...roleEntry(role) } }];
    if (held.priority === role.priority) return [];
    return [{ command: 'modifyClient', fields: { username, roles: replaced(roles, role).map(roleEntry) } }];
  },
  REMOVE_CLIENT_ROLE(draft, { username, roleName: rolename }) {
    const { roles } = clientOf(draft, username);
    roleOf(draft, rolename);
    return named(roles, rolename) ? [{ command: 'removeClientRole', fields: { username, rolename } }] : [];
  },
  ADD_CLIENT_GROUP(draft, { username, group }) {
    const { groups } = clientOf(draft, username);
    groupOf(draft, group.name);
    const joined = named(groups, group.name);
    if (!joined) return [{ command: 'addGroupClient', fields: { username, ...groupEntry(group) } }];
    if (joined.priority === group.priority) return [];
    return [{ command: 'modifyClient', fields: { username, groups: replaced(groups, group).map(groupEntry) } }];
  },
  REMOVE_CLIENT_GROUP(draft, { username, groupName: groupname }) {
    const { groups } = clientOf(draft, username);
    groupOf(draft, groupname);
    return named(groups, groupname) ? [{ command: 'removeGroupClient', fields: { groupname, username } }] : [];
  },
};

/** Creates the client without roles (see DynsecWrite) and disables it before it gets roles. */
function createClient(username: string, fields: ClientFields): DynsecWrite[] {
  const { clientId, password, disabled = false, roles = [], groups = [] } = fields;
  const [first, ...more] = roles;
  return [
    {
      command: 'createClient',
      fields: {
        username,
        ...(password === undefined ? {} : { password }),
        ...differing('clientid', null, clientId),
        ...textFields(null, fields),
        ...(groups.length === 0 ? {} : { groups: groups.map(groupEntry) }),
      },
    },
    ...(disabled ? [{ command: 'disableClient', fields: { username } } as const] : []),
    ...(first && more.length === 0
      ? [{ command: 'addClientRole', fields: { username, ...roleEntry(first) } } as const]
      : []),
    ...(more.length > 0
      ? [{ command: 'modifyClient', fields: { username, roles: roles.map(roleEntry) } } as const]
      : []),
  ];
}

/** Uses as few commands as possible, because each one disconnects the client. */
function updateClient(client: Account, fields: ClientFields): DynsecWrite[] {
  const { username } = client;
  const { clientId, password, disabled, roles, groups } = fields;
  const changed = {
    ...differing('clientid', client.clientId, clientId),
    ...textFields(client, fields),
    ...(roles === undefined || listDifference(client.roles, roles).isSame ? {} : { roles: roles.map(roleEntry) }),
    ...(groups === undefined || listDifference(client.groups, groups).isSame ? {} : { groups: groups.map(groupEntry) }),
  };
  const writes: DynsecWrite[] = [];
  if (disabled === true && !client.disabled) writes.push({ command: 'disableClient', fields: { username } });
  if (Object.keys(changed).length > 0) {
    const secret = password === undefined ? {} : { password };
    writes.push({ command: 'modifyClient', fields: { username, ...secret, ...changed } });
  } else if (password !== undefined) {
    writes.push({ command: 'setClientPassword', fields: { username, password } });
  }
  if (disabled === false && client.disabled) writes.push({ command: 'enableClient', fields: { username } });
  return writes;
}

const named = (list: readonly Membership[], name: string): Membership | undefined =>
  list.find((entry) => entry.name === name);

const replaced = (list: readonly Membership[], entry: Membership): Membership[] =>
  list.map((other) => (other.name === entry.name ? entry : other));
