import { invalid } from '../../../platform/errors.ts';
import { addressKey } from '../../../platform/network/address-range.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { BacklogOf } from './client-backlogs.ts';
import { keyOf } from './client-key.ts';
import { ANONYMOUS, type ConnectedClientSummary } from './inspect-data.ts';

export const CLIENT_SORT_FIELDS = [
  ...(['CLIENT_ID', 'USERNAME', 'CONNECTED_AT', 'ADDRESS'] as const),
  ...(['QUEUED_MESSAGES', 'DROPPED_MESSAGES'] as const),
] as const;

export interface ClientOrder {
  readonly field: (typeof CLIENT_SORT_FIELDS)[number];
  readonly direction: 'asc' | 'desc';
}

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

/** Clients with equal values are in the order of their keys. Clients without a value are last. */
interface Place {
  readonly value: string | number | null;
  readonly key: string;
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
  const compare = comparison(order);
  const start = after === undefined ? null : placeIn(after, order);
  const skipped = Math.max(0, offset);
  const first = new FirstInOrder<PlacedClient>(skipped + (count < 0 ? clients.length : count), compare);
  let before = 0;
  for (let index = 0; index < clients.length; index += 1) {
    const place = placeOf(clients[index] as ConnectedClientSummary);
    if (start !== null && compare(place, start) <= 0) before += 1;
    else first.add(place);
    if (index % STEPS === 0) yield;
  }
  return {
    clients: first
      .list()
      .slice(skipped)
      .map(({ client }) => client),
    totalCount: clients.length,
    offset: Math.min(before + skipped, clients.length),
    cursorOf: (client) => cursorOf(placeOf(client), order),
  };
}

/** Clients between two checks of the time, which take well below 1 ms. */
const STEPS = 500;

const comparison =
  ({ direction }: ClientOrder) =>
  (a: Place, b: Place): number => {
    if (a.value === b.value) return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
    if (a.value === null) return 1;
    if (b.value === null) return -1;
    return a.value < b.value === (direction === 'asc') ? -1 : 1;
  };

const cursorOf = ({ value, key }: Place, { field, direction }: ClientOrder): string =>
  Buffer.from(JSON.stringify([field, direction, value, key])).toString('base64url');

function placeIn(cursor: string, order: ClientOrder): Place {
  const parts = parsed(Buffer.from(cursor, 'base64url').toString());
  const [field, direction, value, key] = Array.isArray(parts) ? parts : [];
  const isValue = value === null || typeof value === 'string' || typeof value === 'number';
  const isOfOrder = field === order.field && direction === order.direction;
  if (isOfOrder && isValue && typeof key === 'string') return { value, key };
  throw invalid([{ path: 'after', reason: 'is not a cursor of a list in this order' }]);
}

/** Collects the first `count` entries in order. Sorts about twice as many at once, not the whole list. */
class FirstInOrder<T> {
  readonly #count: number;
  readonly #compare: (a: T, b: T) => number;
  readonly #entries: T[] = [];
  #last: T | undefined;

  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  add(entry: T): void {
    if (this.#last !== undefined && this.#compare(entry, this.#last) >= 0) return;
    this.#entries.push(entry);
    if (this.#entries.length < 2 * this.#count + SPARE) return;
    this.#entries.sort(this.#compare).length = this.#count;
    this.#last = this.#entries[this.#count - 1];
  }

  list(): T[] {
    return this.#entries.sort(this.#compare).slice(0, this.#count);
  }
}

const SPARE = 100;

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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
