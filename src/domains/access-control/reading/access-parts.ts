import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import { listPages } from '../../../protocol/control/list-pages.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { AccessClient, AccessGroup, AccessRole } from '../policy/access-model.ts';
import { parseClient, parseGroup, parseRole } from './dynsec-control.ts';

/** What a policy is read as, each as a whole. The default ACL and the anonymous group are so small that they are told with every check. */
export const ACCESS_PARTS = ['clients', 'groups', 'roles'] as const;
export type AccessPart = (typeof ACCESS_PARTS)[number];

export interface PartObjects {
  readonly clients: AccessClient;
  readonly groups: AccessGroup;
  readonly roles: AccessRole;
}

export interface ReadPart<T> {
  readonly objects: ReadonlyMap<string, T>;
  /** Entries of the broker's list that are not in `objects`: without a name that can be read, or twice. */
  readonly unreadable: number;
  /** Epoch milliseconds at which reading began. */
  readonly readAt: number;
}

export interface PartBounds {
  readonly maxObjects: number;
  readonly pageBytes: number;
  /** Epoch milliseconds. */
  readonly endsAt: number;
}

/** Texts are kept as long as the index holds them; 200,000 accounts of a kilobyte fit. */
const MAX_BYTES = 256_000_000;

interface PartReader<T> {
  readonly command: string;
  /** Entries of the first page, before anything is known of their size: a role may have thousands of rules, a group members. */
  readonly firstPage: number;
  parse(item: unknown): T | null;
  nameOf(object: T): string;
}

const READERS: { readonly [Part in AccessPart]: PartReader<PartObjects[Part]> } = {
  clients: { command: 'listClients', firstPage: 50, parse: parseClient, nameOf: ({ username }) => username },
  groups: {
    command: 'listGroups',
    firstPage: 5,
    parse: (item) => {
      const group = parseGroup(item);
      if (group === null) return null;
      const { members: _told, ...known } = group;
      return known;
    },
    nameOf: ({ groupname }) => groupname,
  },
  roles: { command: 'listRoles', firstPage: 5, parse: parseRole, nameOf: ({ rolename }) => rolename },
};

/**
 * All objects of one part, page by page: never the verbose list in one piece, which Mosquitto serves nobody during, and which 2.1
 * drops when it is larger than its packets may be. `isSteady` false: the list moved meanwhile.
 * Errors: those of the caller; TOO_LARGE above `maxObjects` or MAX_BYTES, BROKER_TIMEOUT after `endsAt`,
 * BROKER_REJECTED for a list without end.
 */
export async function readPart<Part extends AccessPart>(
  controls: ControlCaller,
  part: Part,
  { maxObjects, pageBytes, endsAt }: PartBounds,
): Promise<ReadPart<PartObjects[Part]> & { readonly isSteady: boolean }> {
  const { command, firstPage, parse, nameOf } = READERS[part];
  const readAt = Date.now();
  const { items, isSteady } = await listPages(controls, DYNSEC_API, command, part, {
    fields: { verbose: true },
    firstPage,
    pageBytes,
    maxItems: maxObjects,
    maxBytes: MAX_BYTES,
    endsAt,
    nameOf: (item) => {
      const object = parse(item);
      return object === null ? null : nameOf(object);
    },
  });
  const objects = await runInSlices(parsed(items, READERS[part]));
  return { objects, unreadable: items.length - objects.size, readAt, isSteady };
}

/** The first of each name. */
function* parsed<T>(items: readonly unknown[], { parse, nameOf }: PartReader<T>): SlicedTask<ReadonlyMap<string, T>> {
  const objects = new Map<string, T>();
  for (const item of items) {
    const object = parse(item);
    if (object !== null && !objects.has(nameOf(object))) objects.set(nameOf(object), object);
    yield;
  }
  return objects;
}

/** What a command of somebody else may have changed, by its name alone. */
export function partsChangedBy(command: string): readonly AccessPart[] {
  return isRead(command) ? [] : (CHANGED_BY.get(command.toLowerCase()) ?? ACCESS_PARTS);
}

/** Names in lower case: Mosquitto takes them in any. What is not here may have changed anything. */
const CHANGED_BY = new Map<string, readonly AccessPart[]>([
  ['setclientpassword', []],
  ['setdefaultaclaccess', []],
  ['setanonymousgroup', []],
  ...['createClient', 'deleteClient', 'modifyClient', 'enableClient', 'disableClient', 'setClientId'].map(onClients),
  ...['addClientRole', 'removeClientRole', 'addGroupClient', 'removeGroupClient'].map(onClients),
  ['creategroup', ['groups']],
  ['addgrouprole', ['groups']],
  ['removegrouprole', ['groups']],
  ['modifygroup', ['groups', 'clients']],
  ['deletegroup', ['groups', 'clients']],
  ['createrole', ['roles']],
  ['modifyrole', ['roles']],
  ['addroleacl', ['roles']],
  ['removeroleacl', ['roles']],
]);

function onClients(command: string): [string, readonly AccessPart[]] {
  return [command.toLowerCase(), ['clients']];
}
