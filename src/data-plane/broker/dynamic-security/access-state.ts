import { Listeners } from '../../../platform/listeners.ts';
import type {
  AccessGroup,
  AccessPolicy,
  AccessRole,
  Account,
  DefaultAcl,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { compareNames } from '../../../protocol/apis/access-control/access-order.ts';
import type { AccessLimits } from '../limits.ts';

export interface Settings {
  readonly defaultAcl: DefaultAcl;
  readonly anonymousGroup: string | null;
  readonly changeIndex: number;
}

/** Access control in memory. Objects are replaced, never changed, and were validated: lists are sorted. */
export class AccessState {
  readonly limits: AccessLimits;
  settings: Settings;
  policy: AccessPolicy;
  readonly #clients = new Map<string, Account>();
  readonly #groups = new Map<string, AccessGroup>();
  readonly #roles = new Map<string, AccessRole>();
  readonly #passwordHashes = new Map<string, string>();
  /** The members of groups, and the clients and groups with roles. */
  readonly members = new Holders();
  readonly clientsWith = new Holders();
  readonly groupsWith = new Holders();
  readonly #listeners = new Listeners<[username: string | null]>();
  readonly #sortedNames = new Map<ReadonlyMap<string, object>, readonly string[]>();
  #changes = noChanges();
  #size = 0;

  constructor(settings: Settings, limits: AccessLimits) {
    this.settings = settings;
    this.limits = limits;
    this.policy = this.#createPolicy();
  }

  hasRoomFor(size: number): boolean {
    return size <= 0 || this.#size + size <= this.limits.size;
  }

  passwordHash(username: string): string | null {
    return this.#passwordHashes.get(username) ?? null;
  }

  names(of: ReadonlyMap<string, object>): readonly string[] {
    let names = this.#sortedNames.get(of);
    // Names are added and removed one by one, and removing a name deletes the sorted list.
    if (!names || names.length !== of.size) {
      names = Array.from(of.keys()).sort(compareNames);
      this.#sortedNames.set(of, names);
    }
    return names;
  }

  /** Calls the listener after each change with the account that it concerns; `null` if it concerns all. */
  readonly onChange = this.#listeners.add;

  putClient(client: Account): void {
    const { username } = client;
    const old = this.#clients.get(username);
    this.clientsWith.move(username, old?.roles, client.roles);
    this.members.move(username, old?.groups, client.groups);
    this.#replace('clients', this.#clients, username, client);
  }

  putPasswordHash(username: string, hash: string | null): void {
    if (hash === null) this.#passwordHashes.delete(username);
    else this.#passwordHashes.set(username, hash);
    this.#changes.clients.add(username);
  }

  removeClient(username: string): void {
    const old = this.#clients.get(username);
    if (!old) return;
    this.clientsWith.move(username, old.roles, []);
    this.members.move(username, old.groups, []);
    this.#passwordHashes.delete(username);
    this.#replace('clients', this.#clients, username, null);
  }

  putGroup(group: AccessGroup): void {
    const { groupname } = group;
    const old = this.#groups.get(groupname);
    this.groupsWith.move(groupname, old?.roles, group.roles);
    this.#replace('groups', this.#groups, groupname, group);
  }

  removeGroup(groupname: string): void {
    const old = this.#groups.get(groupname);
    if (!old) return;
    for (const username of this.members.of(groupname)) {
      const client = this.#clients.get(username);
      if (client) this.putClient({ ...client, groups: withoutMembership(client.groups, groupname) });
    }
    this.groupsWith.move(groupname, old.roles, []);
    this.#replace('groups', this.#groups, groupname, null);
  }

  putRole(role: AccessRole): void {
    this.#replace('roles', this.#roles, role.rolename, role);
  }

  removeRole(rolename: string): void {
    const old = this.#roles.get(rolename);
    if (!old) return;
    for (const username of this.clientsWith.of(rolename)) {
      const client = this.#clients.get(username);
      if (client) this.putClient({ ...client, roles: withoutMembership(client.roles, rolename) });
    }
    for (const groupname of this.groupsWith.of(rolename)) {
      const group = this.#groups.get(groupname);
      if (group) this.putGroup({ ...group, roles: withoutMembership(group.roles, rolename) });
    }
    this.#replace('roles', this.#roles, rolename, null);
  }

  putSettings(settings: Partial<Settings>): void {
    this.settings = { ...this.settings, ...settings };
    this.policy = this.#createPolicy();
    this.#changes.settings = true;
    this.#listeners.notify(null);
  }

  countWrite(): void {
    this.settings = { ...this.settings, changeIndex: this.settings.changeIndex + 1 };
    this.#changes.settings = true;
  }

  takeChanges() {
    const changes = this.#changes;
    this.#changes = noChanges();
    return changes;
  }

  #replace<T extends Sized>(
    kind: 'clients' | 'groups' | 'roles',
    objects: Map<string, T>,
    name: string,
    object: T | null,
  ): void {
    const old = objects.get(name);
    this.#size += (object ? sizeOf(object) : 0) - (old ? sizeOf(old) : 0);
    if (object) objects.set(name, object);
    else {
      this.#sortedNames.delete(objects);
      objects.delete(name);
    }
    this.#changes[kind].add(name);
    this.#listeners.notify(kind === 'clients' ? name : null);
  }

  #createPolicy(): AccessPolicy {
    const { defaultAcl, anonymousGroup } = this.settings;
    return { clients: this.#clients, groups: this.#groups, roles: this.#roles, defaultAcl, anonymousGroup };
  }
}

/** Names of changed or deleted objects. `settings`: the default access, the anonymous group or the change index. */
const noChanges = () => ({
  clients: new Set<string>(),
  groups: new Set<string>(),
  roles: new Set<string>(),
  settings: false,
});

export const withoutMembership = (memberships: readonly Membership[], name: string): readonly Membership[] =>
  memberships.some((membership) => membership.name === name)
    ? memberships.filter((membership) => membership.name !== name)
    : memberships;

class Holders {
  readonly #byName = new Map<string, Set<string>>();

  move(holder: string, from: readonly Membership[] | undefined, to: readonly Membership[]): void {
    if (from === to) return;
    for (const { name } of from ?? []) {
      const holders = this.#byName.get(name);
      holders?.delete(holder);
      if (holders?.size === 0) this.#byName.delete(name);
    }
    for (const { name } of to) {
      const holders = this.#byName.get(name);
      if (holders) holders.add(holder);
      else this.#byName.set(name, new Set([holder]));
    }
  }

  /** Sorted names. */
  of(name: string): string[] {
    return Array.from(this.#byName.get(name) ?? []).sort(compareNames);
  }
}

const ENTRY = 50;

export const membershipSize = (name: string): number => ENTRY + name.length;

export type Sized = Partial<Account & AccessGroup & AccessRole>;

/** Size of an object in characters, for `AccessLimits.size`. */
export function sizeOf(object: Sized): number {
  const { username, clientId, groupname, rolename, textName, textDescription } = object;
  let size = ENTRY;
  for (const text of [username, clientId, groupname, rolename, textName, textDescription]) size += text?.length ?? 0;
  for (const { name } of object.roles ?? []) size += membershipSize(name);
  for (const { name } of object.groups ?? []) size += membershipSize(name);
  for (const { topic } of object.acls ?? []) size += ENTRY + topic.length;
  return size;
}
