import type { AccessClient, AccessGroup, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';

/**
 * A copy of the objects of a policy with updates. `null` removes an object. A removed role or group is also removed
 * from its holders, as in the broker. The policy is not changed.
 */
export class UpdatedObjects {
  clients: ReadonlyMap<string, AccessClient>;
  groups: ReadonlyMap<string, AccessGroup>;
  roles: ReadonlyMap<string, AccessRole>;

  constructor({ clients, groups, roles }: AccessPolicy) {
    this.clients = clients;
    this.groups = groups;
    this.roles = roles;
  }

  putClients(clients: ReadonlyMap<string, AccessClient | null>): void {
    this.clients = withObjects(this.clients, clients);
  }

  putGroups(groups: ReadonlyMap<string, AccessGroup | null>): void {
    this.groups = withObjects(this.groups, groups);
    const removed = removedFrom(groups);
    if (removed.size === 0) return;
    this.clients = mapped(this.clients, (client) => {
      const remaining = without(client.groups, removed);
      return remaining === client.groups ? client : { ...client, groups: remaining };
    });
  }

  putRoles(roles: ReadonlyMap<string, AccessRole | null>): void {
    this.roles = withObjects(this.roles, roles);
    const removed = removedFrom(roles);
    if (removed.size === 0) return;
    const strip = <T extends AccessClient | AccessGroup>(holder: T): T => {
      const remaining = without(holder.roles, removed);
      return remaining === holder.roles ? holder : { ...holder, roles: remaining };
    };
    this.clients = mapped(this.clients, strip);
    this.groups = mapped(this.groups, strip);
  }

  /** Removes members from an existing group. */
  removeMembers(groupname: string, usernames: Iterable<string>): void {
    const group = new Set([groupname]);
    const changed = new Map<string, AccessClient>();
    for (const username of usernames) {
      const client = this.clients.get(username);
      if (client) changed.set(username, { ...client, groups: without(client.groups, group) });
    }
    this.putClients(changed);
  }
}

const removedFrom = (objects: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  new Set(Array.from(objects).flatMap(([name, object]) => (object === null ? [name] : [])));

/** Returns the same list if it contains none of the names. */
function without(memberships: readonly Membership[], removed: ReadonlySet<string>): readonly Membership[] {
  return memberships.some(({ name }) => removed.has(name))
    ? memberships.filter(({ name }) => !removed.has(name))
    : memberships;
}

function withObjects<T>(all: ReadonlyMap<string, T>, some: ReadonlyMap<string, T | null>): ReadonlyMap<string, T> {
  if (some.size === 0) return all;
  const copy = new Map(all);
  for (const [name, object] of some) {
    if (object === null) copy.delete(name);
    else copy.set(name, object);
  }
  return copy;
}

/** Returns the same map if no object changed. */
function mapped<T>(all: ReadonlyMap<string, T>, change: (object: T) => T): ReadonlyMap<string, T> {
  const changed = new Map<string, T>();
  for (const [name, object] of all) {
    const after = change(object);
    if (after !== object) changed.set(name, after);
  }
  return withObjects(all, changed);
}
