import { addressKey } from '../../../platform/network/address-range.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { FirstItems } from '../../../platform/sorting/first-items.ts';
import { comparison, cursorOf, type ListOrder, type Place, placeIn } from '../../../platform/sorting/places.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import { ANONYMOUS, type ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { BacklogOf } from './client-backlogs.ts';

export const CLIENT_SORT_FIELDS = [
  ...(['CLIENT_ID', 'USERNAME', 'CONNECTED_AT', 'ADDRESS'] as const),
  ...(['QUEUED_MESSAGES', 'DROPPED_MESSAGES'] as const),
] as const;

export type ClientOrder = ListOrder<(typeof CLIENT_SORT_FIELDS)[number]>;

export interface PageOfOrder {
  /** Number of clients that are skipped, counted after `after`. Default: 0. */
  readonly offset?: number | undefined;
  /** -1: all. Default: -1. */
  readonly count?: number | undefined;
  /** Cursor of the client after which the page begins. */
  readonly after?: string | undefined;
}

export interface SortedPage {
  readonly clients: readonly ConnectedClientSummary[];
  /** Size of the whole filtered list. */
  readonly totalCount: number;
  /** Index of the first client of the page in the filtered list. */
  readonly offset: number;
  readonly cursorOf: (client: ConnectedClientSummary) => string;
}

interface PlacedClient extends Place {
  readonly client: ConnectedClientSummary;
}

type ValueOf = (client: ConnectedClientSummary) => string | number | null | undefined;

/** Whether the order needs current numbers of queued or dropped messages. */
export const isByBacklog = ({ field }: ClientOrder): boolean =>
  field === 'QUEUED_MESSAGES' || field === 'DROPPED_MESSAGES';

/**
 * A page of clients in an order, in slices: `clients` must not change meanwhile. A cursor has the value and the key of
 * its client, so it stays valid if the client changes or no longer exists. Errors: INVALID for a cursor of another
 * order.
 */
export function* pageInOrder(
  clients: readonly ConnectedClientSummary[],
  order: ClientOrder,
  { offset = 0, count = -1, after }: PageOfOrder,
  backlogOf: BacklogOf,
): SlicedTask<SortedPage> {
  const read = VALUES[order.field](backlogOf);
  const placeOf = (client: ConnectedClientSummary): PlacedClient => ({
    client,
    value: read(client) ?? null,
    key: keyOf(client),
  });
  const compare = comparison(order.direction);
  const start = after === undefined ? null : placeIn(after, order);
  const skipped = Math.max(0, offset);
  const first = new FirstItems<PlacedClient, Place>(skipped + (count < 0 ? clients.length : count), compare);
  let before = 0;
  for (let index = 0; index < clients.length; index += 1) {
    const place = placeOf(clients[index] as ConnectedClientSummary);
    if (start !== null && compare(place, start) <= 0) before += 1;
    else first.add(place);
    if (index % STEPS === 0) yield;
  }
  return {
    clients: first
      .sorted()
      .slice(skipped)
      .map(({ client }) => client),
    totalCount: clients.length,
    offset: Math.min(before + skipped, clients.length),
    cursorOf: (client) => cursorOf(placeOf(client), order),
  };
}

/** Clients between two checks of the time, which take well below 1 ms. */
const STEPS = 500;

const VALUES: Readonly<Record<ClientOrder['field'], (backlogOf: BacklogOf) => ValueOf>> = {
  CLIENT_ID: () => keyOf,
  USERNAME:
    () =>
    ({ username }) =>
      username === ANONYMOUS ? null : username,
  CONNECTED_AT:
    () =>
    ({ lastConnect }) =>
      lastConnect,
  ADDRESS:
    () =>
    ({ address }) =>
      address === undefined ? null : addressKey(address),
  QUEUED_MESSAGES: (backlogOf) => (client) => backlogOf(client).messagesOut,
  DROPPED_MESSAGES: (backlogOf) => (client) => backlogOf(client).numDropped,
};
