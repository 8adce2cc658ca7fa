import { ServiceError } from '../../../platform/errors.ts';
import { isFields } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';
import type { ClientRef } from './client-key.ts';
import {
  ANONYMOUS,
  type BacklogPage,
  type ClientQueues,
  type ConnectedClientDetail,
  type ListClientsData,
} from './inspect-data.ts';
import { parseBacklogPage, parseClientDetail, parseClientList, parseQueues } from './inspect-parser.ts';

/**
 * The `cedalo/inspect` control API lists the clients of a broker.
 *
 * Commands: `listClients` (`verbose`, `count`, `offset`) and `getClient` (`clientid`). Providers differ in the fields
 * that they report: the commercial plugin, the embedded broker and the follower of Mosquitto's log. An absent field is
 * unknown, never zero.
 *
 * Extensions of the providers of this service:
 *
 *   - A list has `sequence`, `complete` and `since`.
 *   - `clientsChanged` events are numbered without gaps; `sequence` is the number of the last event that a list
 *     includes. A caller that misses a number lists again.
 *   - `getQueues` returns the queues of at most MAX_QUEUE_IDS `clientids`, because events do not contain them. An
 *     unknown client has `null`.
 *   - `listBacklogs` returns the clients with queued or dropped messages, in pages.
 *   - `listSubscribers` returns the first `count` subscriptions that match a `topic`, and the number of all.
 *   - In a cluster whose nodes have clients of their own, each entry has a `node`, and a client id may occur once per
 *     node. `node` in `getClient` and `nodes` in `getQueues` select the node.
 */
export const INSPECT_API = 'cedalo/inspect';

interface ListClientsOptions {
  /** Whether entries have all fields and not only the client id. Default: true. */
  readonly verbose?: boolean;
  readonly offset?: number;
  /** -1: all. */
  readonly count?: number;
}

export async function listClients(
  caller: ControlCaller,
  { verbose = true, offset = 0, count = -1 }: ListClientsOptions = {},
): Promise<ListClientsData> {
  return parseClientList(await caller.call(INSPECT_API, 'listClients', { verbose, offset, count }));
}

/** Errors: as `ControlCaller`; NOT_FOUND. */
export async function getClient(
  caller: ControlCaller,
  clientid: string,
  node?: number | undefined,
): Promise<ConnectedClientDetail> {
  const data = await caller.call(INSPECT_API, 'getClient', { clientid, ...(node === undefined ? {} : { node }) });
  return parseClientDetail(data) ?? { clientid, username: ANONYMOUS };
}

/** Errors: as `ControlCaller`; NOT_SUPPORTED_BY_BROKER. */
export async function listAllBacklogs(caller: ControlCaller): Promise<Omit<BacklogPage, 'next'>> {
  const backlogs: BacklogPage['backlogs'][number][] = [];
  for (let after = ''; ; ) {
    const page = parseBacklogPage(await caller.call(INSPECT_API, 'listBacklogs', { after }));
    if (page === undefined) {
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', 'The broker does not report the backlogs of its clients');
    }
    for (const backlog of page.backlogs) backlogs.push(backlog);
    if (page.next === undefined || page.next <= after) return { ...page, backlogs };
    after = page.next;
  }
}

export const MAX_QUEUE_IDS = 1_000;

/** The queues of each client, in the order of `clients`; `null` for an unknown client. Errors: as `ControlCaller`. */
export async function getQueues(
  caller: ControlCaller,
  clients: readonly ClientRef[],
): Promise<readonly (ClientQueues | null)[]> {
  const clientids = clients.map(({ clientid }) => clientid);
  const isOfCluster = clients.some(({ node }) => node !== undefined);
  const nodes = isOfCluster ? { nodes: clients.map(({ node }) => node ?? null) } : {};
  const data = await caller.call(INSPECT_API, 'getQueues', { clientids, ...nodes });
  const list: readonly unknown[] = isFields(data) && Array.isArray(data.queues) ? data.queues : [];
  return clients.map((_client, index) => parseQueues(list[index]) ?? null);
}
