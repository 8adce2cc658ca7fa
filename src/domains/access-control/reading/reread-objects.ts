import { ServiceError } from '../../../platform/errors.ts';
import type {
  AccessPolicy,
  AccessRole,
  Account,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import {
  type ListedGroup,
  parseClient,
  parseGroup,
  parseRole,
  withoutMembers,
} from '../../../protocol/apis/access-control/dynsec-control.ts';
import { getClient, getGroup, getRole } from '../../../protocol/control/dynamic-security.ts';
import type { TouchedObject } from '../writing/access-plan.ts';
import type { AccessCheck, CheckResult } from './access-check.ts';
import type { Holder } from './access-lists.ts';
import type { AccessPart } from './access-parts.ts';

const MAX_PER_PAYLOAD = 100;

type Named = Extract<TouchedObject, { readonly name: string }>;

const READERS = {
  CLIENT: { part: 'clients', call: getClient, parse: parseClient },
  GROUP: { part: 'groups', call: getGroup, parse: parseGroup },
  ROLE: { part: 'roles', call: getRole, parse: parseRole },
} as const;

/** `null`: the object does not exist. */
interface Reread {
  readonly clients: Map<string, Account | null>;
  readonly groups: Map<string, ListedGroup | null>;
  readonly roles: Map<string, AccessRole | null>;
}

interface RereadResult {
  readonly objects: Pick<AccessPolicy, AccessPart>;
  readonly unreadable: readonly AccessPart[];
  readonly check: CheckResult;
}

/**
 * As in the broker, a removed role or group is also removed from its holders. Members that joined or left are found.
 */
export async function rereadObjects(
  check: AccessCheck,
  policy: AccessPolicy,
  members: () => ReadonlyMap<string, readonly Holder[]>,
  touched: readonly Named[],
): Promise<RereadResult> {
  const unreadable = new Set<AccessPart>();
  const { read, check: firstCheck } = await readObjects(check, unique(touched), unreadable);
  const roles = updated(policy.roles, read.roles);
  const removedRoles = removedFrom(read.roles);
  const groups = updated(
    without(policy.groups, 'roles', removedRoles),
    new Map(Array.from(read.groups, ([name, group]) => [name, group && withoutMembers(group)] as const)),
  );
  let clients = without(without(policy.clients, 'roles', removedRoles), 'groups', removedFrom(read.groups));
  const joined: Named[] = [];
  for (const [groupname, group] of read.groups) {
    if (group === null) continue;
    const now = new Set(group.members);
    const known = new Set((members().get(groupname) ?? []).map(({ id }) => id));
    const left = [...known].filter((name) => !now.has(name));
    clients = without(clients, 'groups', new Set([groupname]), left);
    for (const name of now) if (!known.has(name) && !read.clients.has(name)) joined.push({ kind: 'CLIENT', name });
  }
  clients = updated(clients, read.clients);
  if (joined.length === 0)
    return { objects: { clients, groups, roles }, unreadable: [...unreadable], check: firstCheck };
  const second = await readObjects(check, unique(joined), unreadable);
  clients = updated(clients, second.read.clients);
  return { objects: { clients, groups, roles }, unreadable: [...unreadable], check: second.check };
}

async function readObjects(
  check: AccessCheck,
  objects: readonly Named[],
  unreadable: Set<AccessPart>,
): Promise<{ readonly read: Reread; readonly check: CheckResult }> {
  const read: Reread = { clients: new Map(), groups: new Map(), roles: new Map() };
  for (let from = 0; ; from += MAX_PER_PAYLOAD) {
    const chunk = objects.slice(from, from + MAX_PER_PAYLOAD);
    const result = await check.runAfter(chunk.map(({ kind, name }) => READERS[kind].call(name)));
    for (const [index, { kind, name }] of chunk.entries()) {
      const { part, parse } = READERS[kind];
      const data = unlessNotFound(result.responses[index]);
      const object = data === null ? null : parse(data.found);
      if (data !== null && object === null) unreadable.add(part);
      else (read[part] as Map<string, unknown>).set(name, object);
    }
    if (from + MAX_PER_PAYLOAD >= objects.length) return { read, check: result.check };
  }
}

function unlessNotFound(response: PromiseSettledResult<unknown> | undefined): { readonly found: unknown } | null {
  if (response?.status !== 'rejected') return { found: response?.value };
  if (response.reason instanceof ServiceError && response.reason.code === 'NOT_FOUND') return null;
  throw response.reason;
}

const unique = (objects: readonly Named[]): Named[] => [
  ...new Map(objects.map((object) => [`${object.kind} ${object.name}`, object])).values(),
];

const removedFrom = (objects: ReadonlyMap<string, unknown>): ReadonlySet<string> =>
  new Set(Array.from(objects).flatMap(([name, object]) => (object === null ? [name] : [])));

/** Returns the same map if there are no updates. */
function updated<T>(all: ReadonlyMap<string, T>, updates: ReadonlyMap<string, T | null>): ReadonlyMap<string, T> {
  if (updates.size === 0) return all;
  const copy = new Map(all);
  for (const [name, object] of updates) {
    if (object === null) copy.delete(name);
    else copy.set(name, object);
  }
  return copy;
}

/** Removes memberships in `removed` from the holders in `names`, by default all. The same map if none has any. */
function without<Key extends 'roles' | 'groups', T extends Readonly<Record<Key, readonly Membership[]>>>(
  holders: ReadonlyMap<string, T>,
  key: Key,
  removed: ReadonlySet<string>,
  names: Iterable<string> = removed.size === 0 ? [] : holders.keys(),
): ReadonlyMap<string, T> {
  const changed = new Map<string, T>();
  for (const holderName of names) {
    const holder = holders.get(holderName);
    if (!holder?.[key].some(({ name }) => removed.has(name))) continue;
    changed.set(holderName, { ...holder, [key]: holder[key].filter(({ name }) => !removed.has(name)) });
  }
  return updated(holders, changed);
}
