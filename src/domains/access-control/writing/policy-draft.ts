import type {
  AccessClient,
  AccessGroup,
  AccessPolicy,
  AccessRole,
  DefaultAcl,
  Membership,
} from '../policy/access-model.ts';
import { membershipsInOrder, rulesInOrder } from '../policy/access-order.ts';
import { changedTexts, fromAcl, fromGroup, fromRole, newTexts } from './dynsec-fields.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { HolderIndex } from './holder-index.ts';

/**
 * A copy of a policy that commands are executed on, as a broker does with commands that it accepts. It does not check
 * the commands: the objects that a command names must exist. The original policy is not changed.
 */
export class PolicyDraft implements AccessPolicy {
  readonly clients: Map<string, AccessClient>;
  readonly groups: Map<string, AccessGroup>;
  readonly roles: Map<string, AccessRole>;
  defaultAcl: DefaultAcl;
  anonymousGroup: string | null;
  /** Created when first used, then updated by each command. */
  #members: HolderIndex | null = null;
  #holders: HolderIndex | null = null;
  #holdingGroups: HolderIndex | null = null;
  /** Cached results of `holdersOf` by role, with the lists that each was created from. */
  readonly #unions = new Map<
    string,
    { readonly sources: readonly (readonly string[])[]; readonly all: readonly string[] }
  >();
  #undo: (() => void)[] | null = null;

  constructor({ clients, groups, roles, defaultAcl, anonymousGroup }: AccessPolicy) {
    this.clients = new Map(clients);
    this.groups = new Map(groups);
    this.roles = new Map(roles);
    this.defaultAcl = defaultAcl;
    this.anonymousGroup = anonymousGroup;
  }

  membersOf(groupname: string): readonly string[] {
    this.#members ??= HolderIndex.over(this.clients, ({ groups }) => groups);
    return this.#members.of(groupname);
  }

  /** Clients that hold the role directly. */
  clientsWith(rolename: string): readonly string[] {
    this.#holders ??= HolderIndex.over(this.clients, ({ roles }) => roles);
    return this.#holders.of(rolename);
  }

  groupsWith(rolename: string): readonly string[] {
    this.#holdingGroups ??= HolderIndex.over(this.groups, ({ roles }) => roles);
    return this.#holdingGroups.of(rolename);
  }

  /** Clients that hold the role directly or through a group. Returns the same list object until the holders change. */
  holdersOf(rolename: string): readonly string[] {
    const lists = [this.clientsWith(rolename), ...this.groupsWith(rolename).map((name) => this.membersOf(name))];
    const sources = lists.filter(({ length }) => length > 0);
    const [only] = sources;
    if (sources.length <= 1) return only ?? [];
    const cached = this.#unions.get(rolename);
    if (cached?.sources.length === sources.length && sources.every((list, index) => list === cached.sources[index]))
      return cached.all;
    const all = [...new Set(sources.flat())];
    this.#unions.set(rolename, { sources, all });
    return all;
  }

  /** Returns a function that undoes all later commands. Call it at most once. Checkpoints cannot be nested. */
  checkpoint(): () => void {
    const undo: (() => void)[] = [];
    this.#undo = undo;
    return () => {
      this.#undo = null;
      for (let step = undo.pop(); step; step = undo.pop()) step();
    };
  }

  run(write: DynsecWrite): void {
    switch (write.command) {
      case 'createClient': {
        const { username, clientid, groups = [] } = write.fields;
        this.#setClient(username, {
          username,
          clientId: clientid || null,
          ...newTexts(write.fields),
          disabled: false,
          roles: [],
          groups: membershipsInOrder(groups.map(fromGroup)),
        });
        break;
      }
      case 'modifyClient': {
        const { username, clientid, roles, groups } = write.fields;
        this.#editClient(username, (client) => ({
          ...client,
          ...changedTexts(write.fields),
          ...(clientid === undefined ? {} : { clientId: clientid || null }),
          ...(roles === undefined ? {} : { roles: membershipsInOrder(roles.map(fromRole)) }),
          ...(groups === undefined ? {} : { groups: membershipsInOrder(groups.map(fromGroup)) }),
        }));
        break;
      }
      case 'setClientPassword':
        break;
      case 'deleteClient':
        this.#setClient(write.fields.username, null);
        break;
      case 'enableClient':
      case 'disableClient': {
        const disabled = write.command === 'disableClient';
        this.#editClient(write.fields.username, (client) => ({ ...client, disabled }));
        break;
      }
      case 'addClientRole': {
        const role = fromRole(write.fields);
        this.#editClient(write.fields.username, (client) => ({ ...client, roles: added(client.roles, role) }));
        break;
      }
      case 'removeClientRole':
        this.#removeClientRole(write.fields.username, write.fields.rolename);
        break;
      case 'addGroupClient':
        this.#join(write.fields.username, fromGroup(write.fields));
        break;
      case 'removeGroupClient':
        this.#leave(write.fields.username, write.fields.groupname);
        break;
      default:
        this.#runOnOthers(write);
    }
  }

  #runOnOthers(write: Exclude<DynsecWrite, { readonly fields: { readonly username: string } }>): void {
    switch (write.command) {
      case 'createGroup': {
        const { groupname } = write.fields;
        this.#setGroup(groupname, { groupname, ...newTexts(write.fields), roles: [] });
        break;
      }
      case 'modifyGroup': {
        const { groupname, clients } = write.fields;
        this.#editGroup(groupname, (group) => ({ ...group, ...changedTexts(write.fields) }));
        if (clients === undefined) break;
        for (const username of this.membersOf(groupname)) this.#leave(username, groupname);
        for (const { username, priority } of clients) this.#join(username, { name: groupname, priority });
        break;
      }
      case 'deleteGroup': {
        const { groupname } = write.fields;
        for (const username of this.membersOf(groupname)) this.#leave(username, groupname);
        this.#setGroup(groupname, null);
        break;
      }
      case 'setAnonymousGroup': {
        const before = this.anonymousGroup;
        this.#undo?.push(() => {
          this.anonymousGroup = before;
        });
        this.anonymousGroup = write.fields.groupname;
        break;
      }
      case 'addGroupRole': {
        const role = fromRole(write.fields);
        this.#editGroup(write.fields.groupname, (group) => ({ ...group, roles: added(group.roles, role) }));
        break;
      }
      case 'removeGroupRole':
        this.#removeGroupRole(write.fields.groupname, write.fields.rolename);
        break;
      case 'createRole': {
        const { rolename, allowwildcardsubs, acls = [] } = write.fields;
        this.#set(this.roles, rolename, {
          rolename,
          ...newTexts(write.fields),
          allowWildcardSubs: allowwildcardsubs ?? null,
          acls: rulesInOrder(acls.map(fromAcl)),
        });
        break;
      }
      case 'modifyRole': {
        const { rolename, allowwildcardsubs, acls } = write.fields;
        this.#editRole(rolename, (role) => ({
          ...role,
          ...changedTexts(write.fields),
          ...(allowwildcardsubs === undefined ? {} : { allowWildcardSubs: allowwildcardsubs }),
          ...(acls === undefined ? {} : { acls: rulesInOrder(acls.map(fromAcl)) }),
        }));
        break;
      }
      case 'deleteRole': {
        const { rolename } = write.fields;
        for (const username of this.clientsWith(rolename)) this.#removeClientRole(username, rolename);
        for (const groupname of this.groupsWith(rolename)) this.#removeGroupRole(groupname, rolename);
        this.#set(this.roles, rolename, null);
        break;
      }
      case 'addRoleACL': {
        const rule = fromAcl(write.fields);
        this.#editRole(write.fields.rolename, (role) => ({ ...role, acls: rulesInOrder([...role.acls, rule]) }));
        break;
      }
      case 'removeRoleACL': {
        const { rolename, acltype, topic } = write.fields;
        this.#editRole(rolename, (role) => ({
          ...role,
          acls: role.acls.filter((rule) => rule.aclType !== acltype || rule.topic !== topic),
        }));
        break;
      }
      case 'setDefaultACLAccess': {
        const before = this.defaultAcl;
        this.#undo?.push(() => {
          this.defaultAcl = before;
        });
        const changed = write.fields.acls.map(({ acltype, allow }) => [acltype, allow]);
        this.defaultAcl = { ...before, ...Object.fromEntries(changed) };
        break;
      }
    }
  }

  #join(username: string, group: Membership): void {
    this.#editClient(username, (client) => ({ ...client, groups: added(client.groups, group) }));
  }

  #leave(username: string, groupname: string): void {
    this.#editClient(username, (client) => ({ ...client, groups: without(client.groups, groupname) }));
  }

  #removeClientRole(username: string, rolename: string): void {
    this.#editClient(username, (client) => ({ ...client, roles: without(client.roles, rolename) }));
  }

  #removeGroupRole(groupname: string, rolename: string): void {
    this.#editGroup(groupname, (group) => ({ ...group, roles: without(group.roles, rolename) }));
  }

  #editClient(username: string, edit: (client: AccessClient) => AccessClient): void {
    const client = this.clients.get(username);
    if (client) this.#setClient(username, edit(client));
  }

  #editGroup(groupname: string, edit: (group: AccessGroup) => AccessGroup): void {
    const group = this.groups.get(groupname);
    if (group) this.#setGroup(groupname, edit(group));
  }

  #editRole(rolename: string, edit: (role: AccessRole) => AccessRole): void {
    const role = this.roles.get(rolename);
    if (role) this.#set(this.roles, rolename, edit(role));
  }

  #setClient(username: string, client: AccessClient | null): void {
    const before = this.clients.get(username) ?? null;
    this.#set(this.clients, username, client);
    this.#reindex(username, before, client);
    this.#undo?.push(() => this.#reindex(username, client, before));
  }

  #reindex(username: string, before: AccessClient | null, after: AccessClient | null): void {
    this.#members?.update(username, before?.groups, after?.groups);
    this.#holders?.update(username, before?.roles, after?.roles);
  }

  #setGroup(groupname: string, group: AccessGroup | null): void {
    const before = this.groups.get(groupname) ?? null;
    this.#set(this.groups, groupname, group);
    this.#holdingGroups?.update(groupname, before?.roles, group?.roles);
    this.#undo?.push(() => this.#holdingGroups?.update(groupname, group?.roles, before?.roles));
  }

  #set<T>(map: Map<string, T>, name: string, value: T | null): void {
    const before = map.get(name);
    this.#undo?.push(() => {
      if (before === undefined) map.delete(name);
      else map.set(name, before);
    });
    if (value === null) map.delete(name);
    else map.set(name, value);
  }
}

const without = (list: readonly Membership[], removed: string): readonly Membership[] =>
  list.filter(({ name }) => name !== removed);

const added = (list: readonly Membership[], entry: Membership): readonly Membership[] =>
  membershipsInOrder([...without(list, entry.name), entry]);
