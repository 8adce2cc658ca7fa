import type {
  AccessClient,
  AccessGroup,
  AccessPolicy,
  AccessRole,
  DefaultAcl,
  Membership,
} from '../../../domains/access-control/policy/access-model.ts';
import { compareNames } from '../../../domains/access-control/policy/access-order.ts';
import type { AccessLimits } from './access-limits.ts';

/** What was changed since the last `takeChanges()`; the names of what is gone are among them. */
export interface StateChanges {
  readonly clients: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
  /** Default access, anonymous group. */
  readonly settings: boolean;
}

export interface Settings {
  readonly defaultAcl: DefaultAcl;
  readonly anonymousGroup: string | null;
  readonly changeIndex: number;
}

/**
 * The access control of one embedded broker in memory: objects by name, and who holds what, from both sides. Objects are replaced,
 * never changed. Callers have checked what they put in: references exist, lists are sorted.
 */
export class AccessState {
  readonly #limits: AccessLimits;
  readonly #clients = new Map<string, AccessClient>();
  readonly #groups = new Map<string, AccessGroup>();
  readonly #roles = new Map<string, AccessRole>();
  readonly #passwordHashes = new Map<string, string>();
  readonly #members = new Holders();
  readonly #roleClients = new Holders();
  readonly #roleGroups = new Holders();
  readonly #listeners = new Set<(username: string | null) => void>();
  readonly #sortedNames = new Map<ReadonlyMap<string, object>, readonly string[]>();
  #settings: Settings;
  #changes = noChanges();
  #size = 0;
  #policy: AccessPolicy;

  constructor(settings: Settings, limits: AccessLimits) {
    this.#settings = settings;
    this.#limits = limits;
    this.#policy = this.#createPolicy();
  }

  /** What decides now; its maps are this state's own and change with it. */
  get policy(): AccessPolicy {
    return this.#policy;
  }

  get settings(): Settings {
    return this.#settings;
  }

  get limits(): AccessLimits {
    return this.#limits;
  }

  /** Whether something with so many characters more may be kept. */
  hasRoomFor(size: number): boolean {
    return size <= 0 || this.#size + size <= this.#limits.size;
  }

  passwordHash(username: string): string | null {
    return this.#passwordHashes.get(username) ?? null;
  }

  /** The names of one of the policy's maps, sorted. */
  names(of: ReadonlyMap<string, object>): readonly string[] {
    let names = this.#sortedNames.get(of);
    // Names are only ever added or removed one by one, and removing drops what is remembered.
    if (!names || names.length !== of.size) {
      names = Array.from(of.keys()).sort(compareNames);
      this.#sortedNames.set(of, names);
    }
    return names;
  }

  /** User names of a group's members, sorted. */
  members(groupname: string): string[] {
    return this.#members.sorted(groupname);
  }

  clientsWith(rolename: string): string[] {
    return this.#roleClients.sorted(rolename);
  }

  groupsWith(rolename: string): string[] {
    return this.#roleGroups.sorted(rolename);
  }

  /** Told of each change: decisions on this account are out of date; null: on all. */
  onChange(listener: (username: string | null) => void): void {
    this.#listeners.add(listener);
  }

  putClient(client: AccessClient): void {
    const { username } = client;
    const old = this.#clients.get(username);
    this.#roleClients.move(username, old?.roles, client.roles);
    this.#members.move(username, old?.groups, client.groups);
    this.#clients.set(username, client);
    this.#size += sizeOf(client) - (old ? sizeOf(old) : 0);
    this.#changes.clients.add(username);
    this.#changed(username);
  }

  /** Null: it has no password. */
  putPasswordHash(username: string, hash: string | null): void {
    if (hash === null) this.#passwordHashes.delete(username);
    else this.#passwordHashes.set(username, hash);
    this.#changes.clients.add(username);
  }

  removeClient(username: string): void {
    const old = this.#clients.get(username);
    if (!old) return;
    this.#roleClients.move(username, old.roles, []);
    this.#members.move(username, old.groups, []);
    this.#sortedNames.delete(this.#clients);
    this.#clients.delete(username);
    this.#passwordHashes.delete(username);
    this.#size -= sizeOf(old);
    this.#changes.clients.add(username);
    this.#changed(username);
  }

  putGroup(group: AccessGroup): void {
    const { groupname } = group;
    const old = this.#groups.get(groupname);
    this.#roleGroups.move(groupname, old?.roles, group.roles);
    this.#groups.set(groupname, group);
    this.#size += sizeOf(group) - (old ? sizeOf(old) : 0);
    this.#changes.groups.add(groupname);
    this.#changed(null);
  }

  /** Its members leave it. */
  removeGroup(groupname: string): void {
    const old = this.#groups.get(groupname);
    if (!old) return;
    for (const username of this.members(groupname)) {
      const client = this.#clients.get(username);
      if (client) this.putClient({ ...client, groups: without(client.groups, groupname) });
    }
    this.#roleGroups.move(groupname, old.roles, []);
    this.#sortedNames.delete(this.#groups);
    this.#groups.delete(groupname);
    this.#size -= sizeOf(old);
    this.#changes.groups.add(groupname);
    this.#changed(null);
  }

  putRole(role: AccessRole): void {
    const old = this.#roles.get(role.rolename);
    this.#roles.set(role.rolename, role);
    this.#size += sizeOf(role) - (old ? sizeOf(old) : 0);
    this.#changes.roles.add(role.rolename);
    this.#changed(null);
  }

  /** Those who hold it lose it. */
  removeRole(rolename: string): void {
    const old = this.#roles.get(rolename);
    if (!old) return;
    for (const username of this.clientsWith(rolename)) {
      const client = this.#clients.get(username);
      if (client) this.putClient({ ...client, roles: without(client.roles, rolename) });
    }
    for (const groupname of this.groupsWith(rolename)) {
      const group = this.#groups.get(groupname);
      if (group) this.putGroup({ ...group, roles: without(group.roles, rolename) });
    }
    this.#sortedNames.delete(this.#roles);
    this.#roles.delete(rolename);
    this.#size -= sizeOf(old);
    this.#changes.roles.add(rolename);
    this.#changed(null);
  }

  putSettings(settings: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.#policy = this.#createPolicy();
    this.#changes.settings = true;
    this.#changed(null);
  }

  /** One more write was done, whether or not it changed anything. */
  countWrite(): void {
    this.#settings = { ...this.#settings, changeIndex: this.#settings.changeIndex + 1 };
    this.#changes.settings = true;
  }

  takeChanges(): StateChanges {
    const changes = this.#changes;
    this.#changes = noChanges();
    return changes;
  }

  #createPolicy(): AccessPolicy {
    const { defaultAcl, anonymousGroup } = this.#settings;
    return { clients: this.#clients, groups: this.#groups, roles: this.#roles, defaultAcl, anonymousGroup };
  }

  #changed(username: string | null): void {
    for (const listener of this.#listeners) listener(username);
  }
}

const noChanges = () => ({
  clients: new Set<string>(),
  groups: new Set<string>(),
  roles: new Set<string>(),
  settings: false,
});

const without = (memberships: readonly Membership[], name: string): readonly Membership[] =>
  memberships.filter((membership) => membership.name !== name);

/** For each name those who hold it. */
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

  sorted(name: string): string[] {
    return Array.from(this.#byName.get(name) ?? []).sort(compareNames);
  }
}

/** What a membership or a rule takes beside its text. */
const ENTRY = 50;

export const membershipSize = (name: string): number => ENTRY + name.length;

interface Sized {
  readonly username?: string;
  readonly clientId?: string | null;
  readonly groupname?: string;
  readonly rolename?: string;
  readonly textName: string | null;
  readonly textDescription: string | null;
  readonly roles?: readonly Membership[];
  readonly groups?: readonly Membership[];
  readonly acls?: readonly { readonly topic: string }[];
}

/** Characters that an object takes, as `AccessLimits.size` counts. */
export function sizeOf(object: Sized): number {
  const { username = '', clientId, groupname = '', rolename = '', textName, textDescription } = object;
  const texts = [username, clientId ?? '', groupname, rolename, textName ?? '', textDescription ?? ''];
  let size = ENTRY;
  for (const text of texts) size += text.length;
  for (const { name } of object.roles ?? []) size += membershipSize(name);
  for (const { name } of object.groups ?? []) size += membershipSize(name);
  for (const { topic } of object.acls ?? []) size += ENTRY + topic.length;
  return size;
}
