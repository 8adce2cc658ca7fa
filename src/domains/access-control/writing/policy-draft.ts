import type {
  AccessGroup,
  AccessPolicy,
  AccessRole,
  Account,
  DefaultAcl,
  Membership,
  PolicyObjects,
} from '../../../protocol/apis/access-control/access-model.ts';
import { membershipsInOrder, rulesInOrder } from '../../../protocol/apis/access-control/access-order.ts';
import {
  changedTexts,
  type DynsecWrite,
  type FieldsOf,
  fromAcl,
  fromGroup,
  fromRole,
  newTexts,
} from './dynsec-writes.ts';
import { HolderIndex } from './holder-index.ts';
import { OverlayMap } from './overlay-map.ts';

/** A policy with executed commands; the original stays. They are not checked: the objects that they name must exist. */
export class PolicyDraft implements AccessPolicy {
  readonly clients: OverlayMap<Account>;
  readonly groups: OverlayMap<AccessGroup>;
  readonly roles: OverlayMap<AccessRole>;
  defaultAcl: DefaultAcl;
  anonymousGroup: string | null;
  #members: HolderIndex | null = null;
  #holders: HolderIndex | null = null;
  #holdingGroups: HolderIndex | null = null;
  readonly #unions = new Map<
    string,
    { readonly sources: readonly (readonly string[])[]; readonly all: readonly string[] }
  >();
  #undo: (() => void)[] | null = null;

  constructor({ clients, groups, roles, defaultAcl, anonymousGroup }: AccessPolicy) {
    this.clients = new OverlayMap(clients);
    this.groups = new OverlayMap(groups);
    this.roles = new OverlayMap(roles);
    this.defaultAcl = defaultAcl;
    this.anonymousGroup = anonymousGroup;
  }

  membersOf(groupname: string): readonly string[] {
    this.#members ??= HolderIndex.over(this.clients, ({ groups }) => groups);
    return this.#members.of(groupname);
  }

  clientsWith(rolename: string): readonly string[] {
    this.#holders ??= HolderIndex.over(this.clients, ({ roles }) => roles);
    return this.#holders.of(rolename);
  }

  groupsWith(rolename: string): readonly string[] {
    this.#holdingGroups ??= HolderIndex.over(this.groups, ({ roles }) => roles);
    return this.#holdingGroups.of(rolename);
  }

  /** Directly or through a group. Returns the same list object until the holders change. */
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

  run({ command, fields }: DynsecWrite): void {
    const run = this.#commands[command] as (fields: DynsecWrite['fields']) => void;
    run(fields);
  }

  readonly #commands: { readonly [C in DynsecWrite['command']]: (fields: FieldsOf<C>) => void } = {
    createClient: ({ username, clientid, groups = [], ...fields }) =>
      this.#set('clients', username, {
        username,
        clientId: clientid || null,
        ...newTexts(fields),
        disabled: false,
        roles: [],
        groups: membershipsInOrder(groups.map(fromGroup)),
      }),
    modifyClient: ({ username, clientid, roles, groups, ...fields }) =>
      this.#edit('clients', username, () => ({
        ...changedTexts(fields),
        ...(clientid === undefined ? {} : { clientId: clientid || null }),
        ...(roles === undefined ? {} : { roles: membershipsInOrder(roles.map(fromRole)) }),
        ...(groups === undefined ? {} : { groups: membershipsInOrder(groups.map(fromGroup)) }),
      })),
    setClientPassword: () => undefined,
    deleteClient: ({ username }) => this.#set('clients', username, null),
    enableClient: ({ username }) => this.#edit('clients', username, () => ({ disabled: false })),
    disableClient: ({ username }) => this.#edit('clients', username, () => ({ disabled: true })),
    addClientRole: ({ username, ...role }) =>
      this.#edit('clients', username, ({ roles }) => ({ roles: added(roles, fromRole(role)) })),
    removeClientRole: ({ username, rolename }) => this.#drop('clients', username, 'roles', rolename),
    addGroupClient: ({ username, ...group }) => this.#join(username, fromGroup(group)),
    removeGroupClient: ({ username, groupname }) => this.#drop('clients', username, 'groups', groupname),
    createGroup: ({ groupname, ...fields }) =>
      this.#set('groups', groupname, { groupname, ...newTexts(fields), roles: [] }),
    modifyGroup: ({ groupname, clients, ...fields }) => {
      this.#edit('groups', groupname, () => changedTexts(fields));
      if (clients === undefined) return;
      for (const username of this.membersOf(groupname)) this.#drop('clients', username, 'groups', groupname);
      for (const { username, priority } of clients) this.#join(username, { name: groupname, priority });
    },
    deleteGroup: ({ groupname }) => {
      for (const username of this.membersOf(groupname)) this.#drop('clients', username, 'groups', groupname);
      this.#set('groups', groupname, null);
    },
    setAnonymousGroup: ({ groupname }) => this.#assign({ anonymousGroup: groupname }),
    addGroupRole: ({ groupname, ...role }) =>
      this.#edit('groups', groupname, ({ roles }) => ({ roles: added(roles, fromRole(role)) })),
    removeGroupRole: ({ groupname, rolename }) => this.#drop('groups', groupname, 'roles', rolename),
    createRole: ({ rolename, allowwildcardsubs, acls = [], ...fields }) =>
      this.#set('roles', rolename, {
        rolename,
        ...newTexts(fields),
        allowWildcardSubs: allowwildcardsubs ?? null,
        acls: rulesInOrder(acls.map(fromAcl)),
      }),
    modifyRole: ({ rolename, allowwildcardsubs, acls, ...fields }) =>
      this.#edit('roles', rolename, () => ({
        ...changedTexts(fields),
        ...(allowwildcardsubs === undefined ? {} : { allowWildcardSubs: allowwildcardsubs }),
        ...(acls === undefined ? {} : { acls: rulesInOrder(acls.map(fromAcl)) }),
      })),
    deleteRole: ({ rolename }) => {
      for (const username of this.clientsWith(rolename)) this.#drop('clients', username, 'roles', rolename);
      for (const groupname of this.groupsWith(rolename)) this.#drop('groups', groupname, 'roles', rolename);
      this.#set('roles', rolename, null);
    },
    addRoleACL: ({ rolename, ...acl }) =>
      this.#edit('roles', rolename, ({ acls }) => ({ acls: rulesInOrder([...acls, fromAcl(acl)]) })),
    removeRoleACL: ({ rolename, acltype, topic }) =>
      this.#edit('roles', rolename, ({ acls }) => ({
        acls: acls.filter((rule) => rule.aclType !== acltype || rule.topic !== topic),
      })),
    setDefaultACLAccess: ({ acls }) => {
      const changed = Object.fromEntries(acls.map(({ acltype, allow }) => [acltype, allow]));
      this.#assign({ defaultAcl: { ...this.defaultAcl, ...changed } });
    },
  };

  #assign(values: Partial<Pick<PolicyDraft, 'defaultAcl' | 'anonymousGroup'>>): void {
    const { defaultAcl, anonymousGroup } = this;
    this.#undo?.push(() => Object.assign(this, { defaultAcl, anonymousGroup }));
    Object.assign(this, values);
  }

  #join(username: string, group: Membership): void {
    this.#edit('clients', username, ({ groups }) => ({ groups: added(groups, group) }));
  }

  #drop(kind: 'clients' | 'groups', holder: string, key: 'roles' | 'groups', name: string): void {
    if (kind === 'groups') this.#edit(kind, holder, ({ roles }) => ({ roles: without(roles, name) }));
    else this.#edit(kind, holder, (client) => ({ [key]: without(client[key], name) }));
  }

  #edit<Kind extends keyof PolicyObjects>(
    kind: Kind,
    name: string,
    change: (object: PolicyObjects[Kind]) => Partial<PolicyObjects[Kind]>,
  ): void {
    const object = (this[kind] as OverlayMap<PolicyObjects[Kind]>).get(name);
    if (object) this.#set(kind, name, { ...object, ...change(object) });
  }

  #set<Kind extends keyof PolicyObjects>(kind: Kind, name: string, value: PolicyObjects[Kind] | null): void {
    const map = this[kind] as OverlayMap<PolicyObjects[Kind]>;
    const put = (before: PolicyObjects[Kind] | null, after: PolicyObjects[Kind] | null) => {
      if (after === null) map.delete(name);
      else map.set(name, after);
      this.#reindex(kind, name, before, after);
    };
    const before = map.get(name) ?? null;
    put(before, value);
    this.#undo?.push(() => put(value, before));
  }

  #reindex(kind: keyof PolicyObjects, name: string, before: Holding | null, after: Holding | null): void {
    if (kind === 'groups') this.#holdingGroups?.update(name, before?.roles, after?.roles);
    if (kind !== 'clients') return;
    this.#members?.update(name, before?.groups, after?.groups);
    this.#holders?.update(name, before?.roles, after?.roles);
  }
}

type Holding = Partial<Account & AccessGroup & AccessRole>;

const without = (list: readonly Membership[], removed: string): readonly Membership[] =>
  list.filter(({ name }) => name !== removed);

const added = (list: readonly Membership[], entry: Membership): readonly Membership[] =>
  membershipsInOrder([...without(list, entry.name), entry]);
