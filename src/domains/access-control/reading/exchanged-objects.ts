import type { AccessClient, AccessGroup, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';

/**
 * The objects of a policy with some of them exchanged; the policy itself stays as it is. Null: the object is gone. A role or group
 * that is gone leaves its holders, as it does in the broker.
 */
export class ExchangedObjects {
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
    const gone = goneOf(groups);
    if (gone.size === 0) return;
    this.clients = mapped(this.clients, (client) => {
      const left = without(client.groups, gone);
      return left === client.groups ? client : { ...client, groups: left };
    });
  }

  putRoles(roles: ReadonlyMap<string, AccessRole | null>): void {
    this.roles = withObjects(this.roles, roles);
    const gone = goneOf(roles);
    if (gone.size === 0) return;
    const strip = <T extends AccessClient | AccessGroup>(holder: T): T => {
      const left = without(holder.roles, gone);
      return left === holder.roles ? holder : { ...holder, roles: left };
    };
    this.clients = mapped(this.clients, strip);
    this.groups = mapped(this.groups, strip);
  }

  /** Accounts leave a group that lives on. */
  removeMembers(groupname: string, usernames: Iterable<string>): void {
    const group = new Set([groupname]);
    const left = new Map<string, AccessClient>();
    for (const username of usernames) {
      const client = this.clients.get(username);
      if (client) left.set(username, { ...client, groups: without(client.groups, group) });
    }
    this.putClients(left);
  }
}

const goneOf = (objects: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  new Set(Array.from(objects).flatMap(([name, object]) => (object === null ? [name] : [])));

/** The same list where none of it is gone. */
function without(memberships: readonly Membership[], gone: ReadonlySet<string>): readonly Membership[] {
  return memberships.some(({ name }) => gone.has(name))
    ? memberships.filter(({ name }) => !gone.has(name))
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

/** The same map where nothing changed. */
function mapped<T>(all: ReadonlyMap<string, T>, change: (object: T) => T): ReadonlyMap<string, T> {
  const changed = new Map<string, T>();
  for (const [name, object] of all) {
    const after = change(object);
    if (after !== object) changed.set(name, after);
  }
  return withObjects(all, changed);
}
