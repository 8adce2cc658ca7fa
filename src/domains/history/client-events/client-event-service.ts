import { type EventCoverage, MAX_EVENT_GAPS } from '../../../data-plane/history/client-events/client-events-module.ts';
import { byPlace, type EventFilter, type EventPlace } from '../../../data-plane/history/client-events/event-pages.ts';
import type { EventGap, StoredEvent } from '../../../data-plane/history/client-events/stored-events.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { AuditEntry } from '../../../generated/sqlite/client.ts';
import { invalid } from '../../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../../platform/paging.ts';
import { cursorOf, placeIn } from '../../../platform/sorting/places.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { truncatedName } from '../../../protocol/apis/clients/client-events.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { EventHistory } from './event-writer.ts';
import { withOpenedName } from './unknown-names.ts';

export interface ClientEventView {
  readonly broker: BrokerRecord;
  readonly event: StoredEvent;
}

export interface EventGapView {
  /** `null`: the gap concerns all brokers. */
  readonly broker: BrokerRecord | null;
  readonly gap: EventGap;
}

export interface ClientEventConnection extends Omit<ListConnection<ClientEventView>, 'totalCount'> {
  readonly readCoverage: () => Promise<EventCoverage>;
  readonly readGaps: () => Promise<readonly EventGapView[]>;
}

export interface ClientEventArguments extends Omit<PageArguments, 'offset'> {
  readonly filter?: EventFilter | null | undefined;
}

export const MAX_EVENTS = 1_000;

const ORDER = { field: 'ClientEvent', direction: 'desc' } as const;

/** Operations that disconnect the clients that they name. Changes of access control record the accounts. */
const DISCONNECTING = ['disconnectClient', 'disconnectClients'];
const DISCONNECTED = 'disconnectedAccounts';
/** An event follows its operation within this time. */
const OPERATION_MS = 60_000;
const MAX_OPERATIONS = 50;

/** The recorded events of the clients of brokers. */
export class ClientEventService {
  readonly #history: EventHistory;
  readonly #db: Database;
  readonly #sealer: Pick<Sealer, 'open'>;

  constructor(history: EventHistory, db: Database, sealer: Pick<Sealer, 'open'>) {
    this.#history = history;
    this.#db = db;
    this.#sealer = sealer;
  }

  /** The newest first. Errors: INVALID; BROKER_UNREACHABLE while the history cannot be read. */
  async page(brokers: readonly BrokerRecord[], args: ClientEventArguments): Promise<ClientEventConnection> {
    const { first, last } = checkedPage(args);
    const count = last ?? first ?? DEFAULT_PAGE;
    if (count > MAX_EVENTS) {
      throw invalid([{ path: last === null ? 'first' : 'last', reason: `must be at most ${MAX_EVENTS}` }]);
    }
    const byId = new Map(brokers.map((broker) => [broker.id, broker]));
    const isUpwards = last !== null;
    const { from, to, ...filter } = args.filter ?? {};
    const page = await this.#history.query('page', {
      brokers: [...byId.keys()],
      filter: { ...named(filter), from, to },
      before: args.after == null ? null : eventPlaceIn(args.after, 'after'),
      after: args.before == null ? null : eventPlaceIn(args.before, 'before'),
      isUpwards,
      count,
    });
    const events = [...page.events].sort((a, b) => byPlace(b, a));
    const edges = events.flatMap((event) => {
      const broker = byId.get(event.broker);
      if (broker === undefined) return [];
      const refusal = event.refusal && withOpenedName(event.refusal, broker.id, this.#sealer);
      return [{ cursor: eventCursor(event), node: { broker, event: { ...event, refusal } } }];
    });
    const searchedTo = page.end === null ? null : eventCursor(page.end);
    const [newest, oldest] = [edges[0]?.cursor ?? null, edges.at(-1)?.cursor ?? null];
    const request = { brokers: [...byId.keys()] };
    return {
      edges,
      pageInfo: {
        hasNextPage: isUpwards ? args.before != null : page.end !== null,
        hasPreviousPage: isUpwards ? page.end !== null : args.after != null,
        startCursor: isUpwards ? (searchedTo ?? newest) : newest,
        endCursor: isUpwards ? oldest : (searchedTo ?? oldest),
      },
      readCoverage: () => this.#history.query('coverage', request),
      readGaps: async () => {
        const range = { ...request, from: from ?? 0, to: to ?? Date.now() };
        const gaps = await this.#history.query('gaps', range);
        return gaps.slice(0, MAX_EVENT_GAPS).map((gap) => ({ broker: byId.get(gap.broker) ?? null, gap }));
      },
    };
  }

  /**
   * The operation of this service that caused a disconnect; `null` if there was none. `together`: the cluster of the
   * broker and its nodes, which have the same access control.
   */
  async operationOf({ broker, event }: ClientEventView, together: readonly string[]): Promise<AuditEntry | null> {
    const { clientId, username, reason, at } = event;
    if (clientId === null || reason !== 'ADMINISTRATOR') return null;
    const targetId = namedNodeId({ kind: 'connectedClient', brokerId: broker.id, name: clientId });
    const entries = await this.#db.auditEntry.findMany({
      where: {
        OR: [
          { targetId: { in: [targetId, broker.id] }, operation: { in: DISCONNECTING } },
          { brokerId: { in: [broker.id, ...together] }, after: { contains: `"${DISCONNECTED}"` } },
        ],
        at: { gte: new Date(at - OPERATION_MS), lte: new Date(at + 1_000) },
      },
      orderBy: { sequence: 'desc' },
      take: MAX_OPERATIONS,
    });
    const names = (entry: AuditEntry) => entry.targetId === targetId || namesClient(entry, clientId, username);
    return entries.find(names) ?? null;
  }
}

/** A selection by a filter is recorded without the selected ids, and the end of a long list is a text in the audit. */
function namesClient({ after }: AuditEntry, clientId: string, username: string | null): boolean {
  const input = JSON.parse(after ?? '{}') as Readonly<Record<string, unknown>>;
  const { clientIds = null, filter = null, [DISCONNECTED]: accounts } = input;
  if (Array.isArray(accounts)) return hasAccount(accounts, username);
  return Array.isArray(clientIds) ? clientIds.includes(clientId) : filter !== null;
}

const hasAccount = (accounts: readonly unknown[], username: string | null): boolean =>
  accounts.some((account) => (typeof account === 'string' ? truncatedName(account) : account) === username) ||
  String(accounts.at(-1)).startsWith('…');

/** Long names are stored truncated. */
const named = (filter: EventFilter): EventFilter => ({
  ...filter,
  clientId: filter.clientId == null ? null : truncatedName(filter.clientId),
  username: filter.username == null ? null : truncatedName(filter.username),
});

const eventCursor = ({ at, id, broker }: EventPlace): string =>
  cursorOf({ value: at, key: JSON.stringify([id, broker]) }, ORDER);

/** Errors: INVALID. */
function eventPlaceIn(cursor: string, path: string): EventPlace {
  const { value, key } = placeIn(cursor, ORDER, path);
  const [, id, broker] = /^\[(-?\d{1,15}),"(\w*)"\]$/.exec(key) ?? [];
  if (typeof value === 'number' && Number.isSafeInteger(value) && broker !== undefined)
    return { at: value, id: Number(id), broker };
  throw invalid([{ path, reason: 'is not a cursor of this list in this order' }]);
}
