import { ServiceError } from '../../../platform/errors.ts';
import { getClient, getGroup, getRole } from '../../../protocol/control/dynamic-security.ts';
import type { AccessClient, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';
import type { TouchedObject } from '../writing/access-plan.ts';
import type { AccessCheck, CheckResult } from './access-check.ts';
import type { AccessPart } from './access-parts.ts';
import { type ListedGroup, parseClient, parseGroup, parseRole, withoutMembers } from './dynsec-control.ts';
import { UpdatedObjects } from './updated-objects.ts';

/** Maximum number of objects that one payload requests. */
const MAX_PER_PAYLOAD = 100;

type Named = Extract<TouchedObject, { readonly name: string }>;

const READERS = {
  CLIENT: { part: 'clients', call: getClient, parse: parseClient },
  GROUP: { part: 'groups', call: getGroup, parse: parseGroup },
  ROLE: { part: 'roles', call: getRole, parse: parseRole },
} as const;

interface Reread {
  readonly clients: Map<string, AccessClient | null>;
  readonly groups: Map<string, ListedGroup | null>;
  readonly roles: Map<string, AccessRole | null>;
}

interface RereadResult {
  readonly draft: UpdatedObjects;
  /** Lists with an object that could not be parsed. */
  readonly unreadable: readonly AccessPart[];
  /** The check after the last response. */
  readonly check: CheckResult;
}

/**
 * Reads some objects of a broker again and updates a copy of the cached policy. A group lists its members, so members
 * that joined or left are found, too. A role does not list its holders. Errors: those of the ControlCaller.
 */
export async function rereadObjects(
  check: AccessCheck,
  policy: AccessPolicy,
  members: () => ReadonlyMap<string, readonly Membership[]>,
  touched: readonly Named[],
): Promise<RereadResult> {
  const draft = new UpdatedObjects(policy);
  const unreadable = new Set<AccessPart>();
  const first = await readObjects(check, unique(touched), unreadable);
  // Roles and groups first: their removal changes holders, which the objects read from the broker then overwrite.
  draft.putRoles(first.read.roles);
  draft.putGroups(
    new Map(Array.from(first.read.groups, ([name, group]) => [name, group && withoutMembers(group)] as const)),
  );
  const joined: Named[] = [];
  for (const [groupname, group] of first.read.groups) {
    if (group === null) continue;
    const now = new Set(group.members);
    const known = new Set((members().get(groupname) ?? []).map(({ name }) => name));
    draft.removeMembers(
      groupname,
      [...known].filter((name) => !now.has(name)),
    );
    for (const name of now)
      if (!known.has(name) && !first.read.clients.has(name)) joined.push({ kind: 'CLIENT', name });
  }
  draft.putClients(first.read.clients);
  if (joined.length === 0) return { draft, unreadable: [...unreadable], check: first.check };
  const second = await readObjects(check, unique(joined), unreadable);
  draft.putClients(second.read.clients);
  return { draft, unreadable: [...unreadable], check: second.check };
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
