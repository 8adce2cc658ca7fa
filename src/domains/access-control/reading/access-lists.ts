import { FITS, type FilterMode } from '../../../platform/text/text-filter.ts';
import type { AccessClient, AccessGroup, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';

/** An object in a list; `id` is its name. */
export interface Listed<T> {
  readonly id: string;
  readonly node: T;
}

export interface ListFilter<Target extends string> {
  readonly value: string;
  readonly mode: FilterMode;
  readonly target: Target;
}

export type ClientFilterTarget = 'username' | 'clientid' | 'textname' | 'textdescription' | 'rolename' | 'groupname';
export type GroupFilterTarget = 'groupname' | 'textname' | 'textdescription' | 'rolename' | 'username';
export type RoleFilterTarget = 'rolename' | 'textname' | 'textdescription' | 'topic';

/** Maximum number of cached filtered lists per policy. The oldest is evicted. */
const MAX_FILTERED = 8;

/**
 * The objects of one policy sorted by name (UTF-16 code units), the members of its groups, and recently filtered lists.
 * Each list is created when first used.
 */
export class AccessLists {
  readonly #policy: AccessPolicy;
  readonly #filtered = new Map<string, readonly Listed<unknown>[]>();
  #clients: readonly Listed<AccessClient>[] | undefined;
  #groups: readonly Listed<AccessGroup>[] | undefined;
  #roles: readonly Listed<AccessRole>[] | undefined;
  #members: ReadonlyMap<string, readonly Membership[]> | undefined;

  constructor(policy: AccessPolicy) {
    this.#policy = policy;
  }

  /** Members by group, sorted by user name. `priority` is the priority of the group in the account. */
  get members(): ReadonlyMap<string, readonly Membership[]> {
    this.#members ??= membersOf(this.clients());
    return this.#members;
  }

  clients(filter: ListFilter<ClientFilterTarget> | null = null): readonly Listed<AccessClient>[] {
    this.#clients ??= sorted(this.#policy.clients);
    return this.#filter('clients', this.#clients, filter, (client, target) => {
      if (target === 'username') return client.username;
      if (target === 'clientid') return client.clientId;
      if (target === 'rolename') return client.roles;
      if (target === 'groupname') return client.groups;
      return textOf(client, target);
    });
  }

  groups(filter: ListFilter<GroupFilterTarget> | null = null): readonly Listed<AccessGroup>[] {
    this.#groups ??= sorted(this.#policy.groups);
    return this.#filter('groups', this.#groups, filter, (group, target) => {
      if (target === 'groupname') return group.groupname;
      if (target === 'rolename') return group.roles;
      if (target === 'username') return this.members.get(group.groupname) ?? null;
      return textOf(group, target);
    });
  }

  roles(filter: ListFilter<RoleFilterTarget> | null = null): readonly Listed<AccessRole>[] {
    this.#roles ??= sorted(this.#policy.roles);
    return this.#filter('roles', this.#roles, filter, (role, target) => {
      if (target === 'rolename') return role.rolename;
      if (target === 'topic') return role.acls.map(({ topic }) => ({ name: topic }));
      return textOf(role, target);
    });
  }

  /** `targetOf` returns one text, several texts of which one must match, or `null`, which matches nothing. */
  #filter<T, Target extends string>(
    kind: string,
    list: readonly Listed<T>[],
    filter: ListFilter<Target> | null,
    targetOf: (object: T, target: Target) => string | readonly { readonly name: string }[] | null,
  ): readonly Listed<T>[] {
    if (filter === null) return list;
    const { value, mode, target } = filter;
    const key = `${kind}:${target}:${mode}:${value}`;
    const cached = this.#filtered.get(key);
    if (cached) return cached as readonly Listed<T>[];
    const fits = FITS[mode];
    const found = list.filter(({ node }) => {
      const texts = targetOf(node, target);
      if (texts === null) return false;
      return typeof texts === 'string' ? fits(texts, value) : texts.some(({ name }) => fits(name, value));
    });
    if (this.#filtered.size >= MAX_FILTERED) this.#filtered.delete(this.#filtered.keys().next().value ?? '');
    this.#filtered.set(key, found);
    return found;
  }
}

function textOf(
  { textName, textDescription }: { readonly textName: string | null; readonly textDescription: string | null },
  target: 'textname' | 'textdescription',
): string | null {
  return target === 'textname' ? textName : textDescription;
}

function sorted<T>(objects: ReadonlyMap<string, T>): readonly Listed<T>[] {
  return Array.from(objects, ([id, node]) => ({ id, node })).sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

function membersOf(clients: readonly Listed<AccessClient>[]): ReadonlyMap<string, readonly Membership[]> {
  const members = new Map<string, Membership[]>();
  for (const { id, node } of clients) {
    for (const { name, priority } of node.groups) {
      const others = members.get(name);
      if (others) others.push({ name: id, priority });
      else members.set(name, [{ name: id, priority }]);
    }
  }
  return members;
}
