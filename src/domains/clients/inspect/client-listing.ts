import type { BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import { listClients } from '../../../protocol/apis/clients/inspect-control.ts';
import type {
  ClientSource,
  ClientsChangedEvent,
  ConnectedClientSummary,
  ListClientsData,
} from '../../../protocol/apis/clients/inspect-data.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { AppliedDifference, ClientDifference } from './sorted-clients.ts';

export interface ClientListState {
  /** Epoch milliseconds. */
  readonly asOf: number;
  readonly source: ClientSource;
  readonly complete: boolean;
  /** Why `complete` is false; `null` if it is true, or the reason is unknown. */
  readonly incompleteReason: string | null;
  /** Epoch milliseconds since when clients are followed; `null` if the broker lists all clients. */
  readonly since: number | null;
  /** Whether events update the list. Events report changes of connections, so `queues` are older than `asOf`. */
  readonly isFollowed: boolean;
}

export interface ClientCounts {
  /** Connected clients and offline persistent sessions. */
  readonly total: number;
  /** Clients that are connected or whose state is unknown. */
  readonly connected: number;
}

export interface ClientSnapshot extends ClientListState {
  readonly clients: readonly ConnectedClientSummary[];
  readonly counts: ClientCounts;
}

/** `counts`: after the change. */
export interface ClientChange extends ClientListState, ClientDifference {
  readonly counts: ClientCounts;
}

export interface ClientDifferencePart extends ClientDifference {
  /** The previous states of changed and removed clients. */
  readonly before: readonly ConnectedClientSummary[];
}

export type ClientRegistryEvent = BroadcastEvent<ClientSnapshot, ClientChange>;

const UNDECIDED = 'A value that the filter needs is unknown for some clients';

/** The state of a filtered list, in which `undecided` clients are missing because a value is unknown. */
export const withUndecided = <State extends ClientListState>(state: State, undecided: number): State =>
  undecided === 0
    ? state
    : { ...state, complete: false, incompleteReason: state.incompleteReason ?? (state.complete ? UNDECIDED : null) };

/** Maximum number of clients of a list; further clients are omitted. */
export const MAX_CLIENTS = 500_000;
/** Clients in one event, so that one event does not block the event loop. */
const EVENT_CLIENTS = 1_000;
/** Maximum number of listings while clients connect and disconnect; then the last one is used. */
const MAX_LISTINGS = 3;

/** Reads all clients page by page, and again if an event arrived between pages: a client may be missing then. */
export async function listAllClients(caller: ControlCaller, pageSize: number): Promise<ListClientsData> {
  for (let attempt = 1; ; attempt++) {
    const first = await listClients(caller, { count: pageSize });
    const clients = new Map(first.clients.map((client) => [keyOf(client), client]));
    let isSteady = true;
    let offset = first.clients.length;
    while (offset < first.totalCount && clients.size < MAX_CLIENTS) {
      const page = await listClients(caller, { offset, count: pageSize });
      const sizeBefore = clients.size;
      for (const client of page.clients) clients.set(keyOf(client), client);
      // The broker ignores the offset, or `totalCount` is too high.
      if (clients.size === sizeBefore) break;
      offset += page.clients.length;
      isSteady &&= page.sequence === first.sequence;
    }
    if (isSteady || attempt >= MAX_LISTINGS) return { ...first, clients: [...clients.values()] };
  }
}

export function splitSnapshot({ clients, ...state }: ClientSnapshot) {
  const [first = [], ...rest] = piecesOf(clients);
  return {
    first: { clients: first, ...state },
    rest: rest.map((changed) => ({ changed, removed: [], ...state })),
  };
}

/** Splits a difference into changes of at most EVENT_CLIENTS clients. */
export function partsOf({ changed, removed, previous }: AppliedDifference): ClientDifferencePart[] {
  const partOf = (part: ClientDifference): ClientDifferencePart => ({
    ...part,
    before: [...part.changed.map(keyOf), ...part.removed].flatMap((key) => previous.get(key) ?? []),
  });
  if (changed.length + removed.length <= EVENT_CLIENTS) return [partOf({ changed, removed })];
  return [
    ...piecesOf(removed).map((piece) => partOf({ changed: [], removed: piece })),
    ...piecesOf(changed).map((piece) => partOf({ changed: piece, removed: [] })),
  ];
}

const piecesOf = <T>(list: readonly T[]): (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / EVENT_CLIENTS) }, (_, index) =>
    list.slice(index * EVENT_CLIENTS, (index + 1) * EVENT_CLIENTS),
  );

export const removedKeys = ({ removed, removedNodes = [] }: ClientsChangedEvent): readonly string[] =>
  removed.map((clientid, index) => {
    const node = removedNodes[index];
    return node === undefined ? clientid : keyOf({ clientid, node });
  });
