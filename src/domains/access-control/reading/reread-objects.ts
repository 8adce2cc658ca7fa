import { ServiceError } from '../../../platform/errors.ts';
import { getClient, getGroup, getRole } from '../../../protocol/control/dynamic-security.ts';
import type { AccessClient, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';
import type { TouchedObject } from '../writing/access-plan.ts';
import type { AccessCheck, Told } from './access-check.ts';
import type { AccessPart } from './access-parts.ts';
import { type ListedGroup, parseClient, parseGroup, parseRole } from './dynsec-control.ts';
import { ExchangedObjects } from './exchanged-objects.ts';

/** Objects that are asked for in one payload. */
const MAX_ASKED = 100;

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

export interface RereadResult {
  readonly draft: ExchangedObjects;
  /** Where an answer could not be read. */
  readonly unreadable: readonly AccessPart[];
  /** After the last of them. */
  readonly told: Told;
}

/**
 * Some objects of a broker as they are now, in a draft of the policy that was known. A group tells its members, so those who came
 * or left without being named are found too; a role does not tell its holders. Errors: those of the caller.
 */
export async function rereadObjects(
  check: AccessCheck,
  policy: AccessPolicy,
  members: () => ReadonlyMap<string, readonly Membership[]>,
  touched: readonly Named[],
): Promise<RereadResult> {
  const draft = new ExchangedObjects(policy);
  const unreadable = new Set<AccessPart>();
  const first = await readObjects(check, unique(touched), unreadable);
  // Roles and groups first: what holders lost by their end is overruled by what was read of the holders themselves.
  draft.putRoles(first.read.roles);
  draft.putGroups(withoutMembers(first.read.groups));
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
  if (joined.length === 0) return { draft, unreadable: [...unreadable], told: first.told };
  const second = await readObjects(check, unique(joined), unreadable);
  draft.putClients(second.read.clients);
  return { draft, unreadable: [...unreadable], told: second.told };
}

async function readObjects(
  check: AccessCheck,
  objects: readonly Named[],
  unreadable: Set<AccessPart>,
): Promise<{ readonly read: Reread; readonly told: Told }> {
  const read: Reread = { clients: new Map(), groups: new Map(), roles: new Map() };
  for (let from = 0; ; from += MAX_ASKED) {
    const chunk = objects.slice(from, from + MAX_ASKED);
    const { answers, told } = await check.askWith(chunk.map(({ kind, name }) => READERS[kind].call(name)));
    for (const [index, { kind, name }] of chunk.entries()) {
      const { part, parse } = READERS[kind];
      const data = unlessNotFound(answers[index]);
      const object = data === null ? null : parse(data.found);
      if (data !== null && object === null) unreadable.add(part);
      else (read[part] as Map<string, unknown>).set(name, object);
    }
    if (from + MAX_ASKED >= objects.length) return { read, told };
  }
}

function unlessNotFound(answer: PromiseSettledResult<unknown> | undefined): { readonly found: unknown } | null {
  if (answer?.status !== 'rejected') return { found: answer?.value };
  if (answer.reason instanceof ServiceError && answer.reason.code === 'NOT_FOUND') return null;
  throw answer.reason;
}

const unique = (objects: readonly Named[]): Named[] => [
  ...new Map(objects.map((object) => [`${object.kind} ${object.name}`, object])).values(),
];

function withoutMembers(groups: ReadonlyMap<string, ListedGroup | null>) {
  return new Map(
    Array.from(groups, ([name, group]) => {
      if (group === null) return [name, null] as const;
      const { members: _told, ...known } = group;
      return [name, known] as const;
    }),
  );
}
