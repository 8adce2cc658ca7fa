import { countOf, fieldsOf, integerOf, intOf, isFields, timeOf } from '../../control/fields.ts';
import type { ClientRef } from './client-key.ts';
import {
  ANONYMOUS,
  type BacklogPage,
  CLIENT_PROTOCOL_VERSIONS,
  CLIENT_PROTOCOLS,
  CLIENT_SOURCES,
  type ClientBacklog,
  type ClientListener,
  type ClientQueues,
  type ClientSubscriptionOptions,
  type ClientsChange,
  type ClientsChangedEvent,
  type ClientTls,
  type ClientWill,
  type ClientWillProperty,
  type ConnectedClientDetail,
  type ConnectedClientSummary,
  INFLIGHT_KEYS,
  type ListClientsData,
  QUEUE_KEYS,
  UNCOUNTED_REASONS,
} from './inspect-data.ts';
import type { Subscriber, SubscriberList } from './subscriber-list.ts';

/**
 * Parses responses and events of `cedalo/inspect`. Values of the wrong type are read as absent. Times may be in seconds
 * or milliseconds. Entries of a list that lack a required field are omitted.
 */
type Reader<T> = (value: unknown) => T | undefined;

type FieldTable<T> = { readonly [Key in keyof T]-?: Reader<T[Key]> };

const text: Reader<string> = (value) => (typeof value === 'string' ? value : undefined);
const flag: Reader<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
const number: Reader<number> = (value) => integerOf(value) ?? undefined;
const int: Reader<number> = (value) => intOf(value) ?? undefined;
const count: Reader<number> = (value) => countOf(value) ?? undefined;

/** Smaller times are in seconds: as milliseconds they would be before March 1973. */
const SECONDS_END = 100_000_000_000;

function time(value: unknown): number | undefined {
  const raw = typeof value === 'string' && value !== '' ? Number(value) : value;
  return timeOf(typeof raw === 'number' && raw < SECONDS_END ? raw * 1_000 : raw) ?? undefined;
}

const oneOf =
  <T extends string>(values: readonly T[]): Reader<T> =>
  (value) =>
    values.find((known) => known === value);

const withDefault =
  <T>(read: Reader<T>, fallback: T): Reader<T> =>
  (value) =>
    read(value) ?? fallback;

const listOf =
  <T>(read: Reader<T>): Reader<T[]> =>
  (value) =>
    Array.isArray(value) ? value.map(read).filter((element) => element !== undefined) : undefined;

function objectOf<T extends object>(table: FieldTable<T>, ...required: readonly (keyof T)[]): Reader<T> {
  const readers = Object.entries<Reader<unknown>>(table);
  return (value) => {
    if (!isFields(value)) return undefined;
    const result: Record<string, unknown> = {};
    for (const [key, read] of readers) {
      const field = read(value[key]);
      if (field !== undefined) result[key] = field;
    }
    return required.every((key) => (key as string) in result) ? (result as T) : undefined;
  };
}

const numbersOf = <Key extends string>(keys: readonly Key[]): Reader<{ readonly [K in Key]?: number }> =>
  objectOf(Object.fromEntries(keys.map((key) => [key, number])) as FieldTable<{ readonly [K in Key]?: number }>);

export const parseQueues: Reader<ClientQueues> = numbersOf(QUEUE_KEYS);

const SUMMARY_FIELDS: FieldTable<ConnectedClientSummary> = {
  username: withDefault(text, ANONYMOUS),
  clientid: text,
  address: text,
  protocol: oneOf(CLIENT_PROTOCOLS),
  protocolVersion: oneOf(CLIENT_PROTOCOL_VERSIONS),
  connected: flag,
  lastConnect: time,
  lastDisconnect: (value) => (value === null ? null : time(value)),
  queues: parseQueues,
  remotePort: int,
  bridge: flag,
  gateway: flag,
  disconnectReason: text,
  node: int,
  source: oneOf(CLIENT_SOURCES),
};

const will = objectOf<ClientWill>(
  {
    topic: text,
    qos: withDefault(int, 0),
    retain: withDefault(flag, false),
    payload: withDefault(text, ''),
    properties: listOf(
      objectOf<ClientWillProperty>({ identifier: text, name: text, value: text }, 'identifier', 'value'),
    ),
    delayInterval: number,
  },
  'topic',
);

/** Never `undefined`, so that the options stay in the order of the subscriptions. */
function subscriptionOptions(value: unknown): ClientSubscriptionOptions {
  const { no_local, retain_as_published } = fieldsOf(value);
  const [noLocal, retainAsPublished] = [flag(no_local), flag(retain_as_published)];
  return {
    ...(noLocal === undefined ? {} : { noLocal }),
    ...(retainAsPublished === undefined ? {} : { retainAsPublished }),
  };
}

const summary = objectOf(SUMMARY_FIELDS, 'clientid');

const tls = objectOf<ClientTls>({ clientCertificate: text, version: text, ciphers: text });

const detail = objectOf<ConnectedClientDetail>(
  {
    ...SUMMARY_FIELDS,
    numSubscriptions: number,
    uncounted: oneOf(UNCOUNTED_REASONS),
    numPublished: number,
    numSubscribed: number,
    numDropped: number,
    bytesPublished: number,
    bytesSubscribed: number,
    keepalive: int,
    cleanSession: flag,
    tls: (value) => (value === null ? null : tls(value)),
    listener: objectOf<ClientListener>({ port: int, bind_address: text, tls: flag }, 'port'),
    will,
    subscriptions: listOf(text),
    inflight: numbersOf(INFLIGHT_KEYS),
    subscriptionQos: listOf(int),
    subscriptionOptions: listOf(subscriptionOptions),
  },
  'clientid',
);

/** A list that is not verbose consists of client ids. */
const clients = listOf((value) =>
  typeof value === 'string' && value !== '' ? { clientid: value, username: ANONYMOUS } : summary(value),
);

const LIST_STATE = {
  sequence: number,
  complete: flag,
  since: time,
  unknownConnections: number,
  incompleteReason: text,
};

const list = objectOf<ListClientsData>({
  totalCount: withDefault(count, 0),
  clients: withDefault(clients, []),
  ...LIST_STATE,
  source: oneOf(CLIENT_SOURCES),
});

const change = objectOf<ClientsChange>(
  {
    ...LIST_STATE,
    changed: withDefault(clients, []),
    removed: withDefault(listOf(text), []),
    removedNodes: listOf(Number),
  },
  'sequence',
);

const backlog = objectOf<ClientBacklog & ClientRef>(
  { clientid: text, node: int, messagesOut: withDefault(number, 0), numDropped: withDefault(number, 0) },
  'clientid',
);

export const parseBacklogPage: Reader<BacklogPage> = objectOf<BacklogPage>(
  { backlogs: listOf(backlog), next: text, unknownNodes: listOf(int) },
  'backlogs',
);

const subscriber = objectOf<Subscriber>(
  { clientid: text, node: int, filter: text, qos: withDefault(int, 0), connected: withDefault(flag, true) },
  'clientid',
  'filter',
);

export const parseSubscriberList: Reader<SubscriberList> = objectOf<SubscriberList>(
  { subscribers: listOf(subscriber), totalCount: withDefault(count, 0), complete: withDefault(flag, false) },
  'subscribers',
);

export function parseClientDetail(data: unknown): ConnectedClientDetail | null {
  const client = isFields(data) && isFields(data.client) ? data.client : data;
  return detail(client) ?? null;
}

/** Reads `data` itself, if it is an array, or `data.clients`. */
export function parseClientList(data: unknown): ListClientsData {
  const { totalCount, ...rest } = list(Array.isArray(data) ? { clients: data } : data) ?? {
    totalCount: 0,
    clients: [],
  };
  return { totalCount: Math.max(totalCount, rest.clients.length), ...rest };
}

/** `null` for anything but a `clientsChanged` event with a number. */
export function parseClientsChanged(event: unknown): ClientsChangedEvent | null {
  const parsed = isFields(event) && event.event === 'clientsChanged' ? change(event) : undefined;
  return parsed === undefined ? null : { type: 'event', event: 'clientsChanged', ...parsed };
}
