import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { PolicyObjects } from '../../../protocol/apis/access-control/access-model.ts';
import {
  parseClient,
  parseGroup,
  parseRole,
  withoutMembers,
} from '../../../protocol/apis/access-control/dynsec-control.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import { listPages } from '../../../protocol/control/list-pages.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

/** The lists of a policy, each read as a whole. The default ACL and the anonymous group are part of AccessCheck. */
export const ACCESS_PARTS = ['clients', 'groups', 'roles'] as const;
export type AccessPart = (typeof ACCESS_PARTS)[number];

export interface ReadPart<T> {
  readonly objects: ReadonlyMap<string, T>;
  /** Number of entries without a valid name or with a duplicate name. */
  readonly unreadable: number;
  readonly readAt: number;
}

interface PartBounds {
  readonly maxObjects: number;
  readonly pageBytes: number;
  readonly endsAt: number;
}

/** Maximum size of one list; enough for 200,000 accounts of 1 kB. */
const MAX_BYTES = 256_000_000;

interface PartReader<T> {
  readonly command: string;
  /** Number of entries in the first page, before their size is known: a role may have thousands of rules. */
  readonly firstPage: number;
  parse(item: unknown): T | null;
  nameOf(object: T): string;
}

const READERS: { readonly [Part in AccessPart]: PartReader<PolicyObjects[Part]> } = {
  clients: { command: 'listClients', firstPage: 50, parse: parseClient, nameOf: ({ username }) => username },
  groups: {
    command: 'listGroups',
    firstPage: 5,
    parse: (item) => {
      const group = parseGroup(item);
      return group && withoutMembers(group);
    },
    nameOf: ({ groupname }) => groupname,
  },
  roles: { command: 'listRoles', firstPage: 5, parse: parseRole, nameOf: ({ rolename }) => rolename },
};

/**
 * Reads one list in pages, because Mosquitto serves no client while it writes a list. `isSteady`: it did not change
 * meanwhile. Errors: those of the ControlCaller, TOO_LARGE, BROKER_TIMEOUT, BROKER_REJECTED (an endless list).
 */
export async function readPart<Part extends AccessPart>(
  controls: ControlCaller,
  part: Part,
  { maxObjects, pageBytes, endsAt }: PartBounds,
): Promise<ReadPart<PolicyObjects[Part]> & { readonly isSteady: boolean }> {
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

function* parsed<T>(items: readonly unknown[], { parse, nameOf }: PartReader<T>): SlicedTask<ReadonlyMap<string, T>> {
  const objects = new Map<string, T>();
  for (const item of items) {
    const object = parse(item);
    if (object !== null && !objects.has(nameOf(object))) objects.set(nameOf(object), object);
    yield;
  }
  return objects;
}

/** Judged by the name of the command only. */
export function partsChangedBy(command: string): readonly AccessPart[] {
  return isRead(command) ? [] : (CHANGED_BY.get(command.toLowerCase()) ?? ACCESS_PARTS);
}

/** By command in lower case, because Mosquitto ignores case. Other commands may have changed every list. */
const CHANGED_BY: ReadonlyMap<string, readonly AccessPart[]> = new Map(
  [
    { parts: [], commands: ['setClientPassword', 'setDefaultACLAccess', 'setAnonymousGroup'] },
    {
      parts: ['clients'],
      commands: [
        ...['createClient', 'deleteClient', 'modifyClient', 'enableClient', 'disableClient', 'setClientId'],
        ...['addClientRole', 'removeClientRole', 'addGroupClient', 'removeGroupClient'],
      ],
    },
    { parts: ['groups'], commands: ['createGroup', 'addGroupRole', 'removeGroupRole'] },
    { parts: ['groups', 'clients'], commands: ['modifyGroup', 'deleteGroup'] },
    { parts: ['roles'], commands: ['createRole', 'modifyRole', 'addRoleACL', 'removeRoleACL'] },
  ].flatMap(({ parts, commands }) =>
    commands.map((command) => [command.toLowerCase(), parts as readonly AccessPart[]] as const),
  ),
);
