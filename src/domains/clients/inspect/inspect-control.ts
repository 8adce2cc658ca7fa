import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { ClientPlace } from './client-key.ts';

/**
 * The `cedalo/inspect` control API: who is connected to a broker.
 *
 * Commands: `listClients` (`verbose`, `count`, `offset`) and `getClient` (`clientid`); `getQueues` is an extension of providers that
 * have queues and tell events: what waits for each of `clientids` (at most 1,000) with all keys of a detail, null for those that are
 * unknown, since events tell nothing of it. Answers of the commercial plugin, of the
 * embedded broker and of the follower of Mosquitto's log differ in what they know; absent means unknown, never zero. Our own
 * providers add `sequence`, `complete` and `since` to a list, and tell `clientsChanged` events; each event carries the number
 * after the one before, and a list carries the number of the last event it includes. Who sees a number left out lists again.
 * Of a cluster whose nodes have clients of their own each entry names its `node`; the same client id may be there once for each node,
 * and `node` in `getClient` and `nodes` in `getQueues` say which is meant.
 *
 * Parsing is tolerant: times in seconds or milliseconds, wrong types read as absent, entries without a client id left out.
 */
export const INSPECT_API = 'cedalo/inspect';

/** Shown as the user name of a client that gave none. */
export const ANONYMOUS = '<anonymous>';

const CLIENT_PROTOCOLS = ['MQTT', 'MQTT-SN', 'MQTT-WS'] as const;
export type ClientProtocol = (typeof CLIENT_PROTOCOLS)[number];
const CLIENT_PROTOCOL_VERSIONS = ['v3.1', 'v3.1.1', 'v5'] as const;
export type ClientProtocolVersion = (typeof CLIENT_PROTOCOL_VERSIONS)[number];

/** Messages that wait, to be taken in or to be sent; without those under way. */
export interface ClientQueues {
  readonly bytesIn?: number;
  readonly bytesOut?: number;
  readonly bytesMax?: number;
  readonly messagesIn?: number;
  readonly messagesMax?: number;
  readonly messagesInQos12?: number;
  readonly messagesOut?: number;
  readonly messagesOutQos12?: number;
  readonly pagedMessagesOut?: number;
  readonly pagedMessagesMax?: number;
}

/** Messages under way: of QoS 1 and 2, not acknowledged to the end. */
export interface ClientInflight {
  readonly bytesIn?: number;
  readonly bytesOut?: number;
  readonly bytesMax?: number;
  readonly messagesIn?: number;
  readonly messagesInMax?: number;
  readonly messagesOut?: number;
  readonly messagesOutMax?: number;
  readonly messagesMax?: number;
}

export interface ConnectedClientSummary {
  /** `<anonymous>` when the client gave none. */
  readonly username: string;
  readonly clientid: string;
  /** IP address. */
  readonly address?: string;
  readonly protocol?: ClientProtocol;
  readonly protocolVersion?: ClientProtocolVersion;
  readonly connected?: boolean;
  /** Epoch milliseconds. */
  readonly lastConnect?: number;
  /** Epoch milliseconds; null: never disconnected. */
  readonly lastDisconnect?: number | null;
  readonly queues?: ClientQueues;
  /** Extension: TCP port of the client's side. */
  readonly remotePort?: number;
  /** Extension: the client is a bridge of another broker. */
  readonly bridge?: boolean;
  /** Extension: a connection of this service itself. */
  readonly gateway?: boolean;
  /** Extension: why the last connection ended, in the broker's words. */
  readonly disconnectReason?: string;
  /** Extension: number of the node of a cluster where it is, where nodes have clients of their own. */
  readonly node?: number;
  /** Extension, with `node`: where that is known from. */
  readonly source?: ClientSource;
}

/** BROKER: it lists its clients. LOG_FEED: they are followed through its log. */
const CLIENT_SOURCES = ['BROKER', 'LOG_FEED'] as const;
export type ClientSource = (typeof CLIENT_SOURCES)[number];

export interface ClientTls {
  /** PEM. */
  readonly clientCertificate?: string;
  readonly version?: string;
  readonly ciphers?: string;
}

export interface ClientListener {
  readonly port: number;
  readonly bind_address?: string;
}

export interface ClientWillProperty {
  /** As Mosquitto names properties: `content-type`. */
  readonly identifier: string;
  /** Of a `user-property`. */
  readonly name?: string;
  /** Numbers in decimal, `correlation-data` in Base64. */
  readonly value: string;
}

export interface ClientWill {
  readonly topic: string;
  readonly qos: number;
  readonly retain: boolean;
  /** Base64. */
  readonly payload: string;
  readonly properties?: readonly ClientWillProperty[];
  /** Seconds. */
  readonly delayInterval?: number;
}

export interface ConnectedClientDetail extends ConnectedClientSummary {
  readonly numSubscriptions?: number;
  /** Messages received from the client. */
  readonly numPublished?: number;
  /** Messages sent to the client. */
  readonly numSubscribed?: number;
  readonly numDropped?: number;
  readonly bytesPublished?: number;
  readonly bytesSubscribed?: number;
  /** Seconds. */
  readonly keepalive?: number;
  readonly cleanSession?: boolean;
  readonly tls?: ClientTls;
  readonly listener?: ClientListener;
  readonly will?: ClientWill;
  /** Topic filters. */
  readonly subscriptions?: readonly string[];
  readonly inflight?: ClientInflight;
  /** Extension: the granted QoS of each of `subscriptions`, in the same order. */
  readonly subscriptionQos?: readonly number[];
  /** Extension: the MQTT 5 options of each of `subscriptions`, in the same order. */
  readonly subscriptionOptions?: readonly ClientSubscriptionOptions[];
}

export interface ClientSubscriptionOptions {
  readonly noLocal?: boolean;
  readonly retainAsPublished?: boolean;
}

export interface ListClientsData {
  /** Size of the whole list, not of the page. */
  readonly totalCount: number;
  readonly clients: readonly ConnectedClientSummary[];
  /** Number of the last `clientsChanged` event that this answer includes; absent where the provider tells no events. */
  readonly sequence?: number;
  /** False: clients are known to be missing, or may be. Absent: complete. */
  readonly complete?: boolean;
  /** Epoch milliseconds since when clients are followed. */
  readonly since?: number;
  /** Connections that are known to be missing; absent: unknown how many, or `complete` says all. */
  readonly unknownConnections?: number;
  /** Of a cluster: LOG_FEED where one of its nodes is followed so. */
  readonly source?: ClientSource;
}

/** Clients that came, changed or went (`removed`: client ids). Persistent sessions that went offline are changed, not removed. */
export interface ClientsChangedEvent {
  readonly type: 'event';
  readonly event: 'clientsChanged';
  readonly sequence: number;
  readonly changed: readonly ConnectedClientSummary[];
  readonly removed: readonly string[];
  /** Extension: the node of each of `removed`, in their order. */
  readonly removedNodes?: readonly number[];
  /** As in a list; absent: as before. */
  readonly complete?: boolean;
  readonly since?: number;
  readonly unknownConnections?: number;
  readonly [field: string]: unknown;
}

export interface ListClientsOptions {
  /** False: client ids alone. Default true. */
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

/** Errors beside the caller's own: NOT_FOUND. */
export async function getClient(
  caller: ControlCaller,
  clientid: string,
  node?: number | undefined,
): Promise<ConnectedClientDetail> {
  const data = await caller.call(INSPECT_API, 'getClient', { clientid, ...(node === undefined ? {} : { node }) });
  return parseClientDetail(data) ?? { clientid, username: ANONYMOUS };
}

/** Ids in one `getQueues`. */
export const MAX_QUEUE_IDS = 1_000;

/** What waits for each of the clients, in their order; null: there is no such client. Errors: the caller's own. */
export async function getQueues(
  caller: ControlCaller,
  clients: readonly ClientPlace[],
): Promise<readonly (ClientQueues | null)[]> {
  const clientids = clients.map(({ clientid }) => clientid);
  const isOfCluster = clients.some(({ node }) => node !== undefined);
  const nodes = isOfCluster ? { nodes: clients.map(({ node }) => node ?? null) } : {};
  const told = fieldsOf(await caller.call(INSPECT_API, 'getQueues', { clientids, ...nodes }))?.queues;
  const list: readonly unknown[] = Array.isArray(told) ? told : [];
  return clients.map((_id, index) => numbersOf(list[index], QUEUE_KEYS) ?? null);
}

const fieldsOf = (value: unknown): Fields | null => (isFields(value) ? value : null);

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const flag = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

const sourceOf = (value: unknown): ClientSource | undefined => CLIENT_SOURCES.find((source) => source === value);

/** Below this a time is in seconds: as milliseconds it would be before March 1973. */
const SECONDS_END = 100_000_000_000;

function time(value: unknown): number | undefined {
  const raw = number(typeof value === 'string' && value !== '' ? Number(value) : value);
  if (raw === undefined || raw < 0) return undefined;
  return Math.trunc(raw < SECONDS_END ? raw * 1_000 : raw);
}

/** The entries whose value is known; `exactOptionalPropertyTypes` wants absent keys, not undefined ones. */
function known<T extends object>(entries: { readonly [K in keyof T]: T[K] | undefined }): T {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(entries)) if (value !== undefined) result[key] = value;
  return result as T;
}

function numbersOf<K extends string>(value: unknown, keys: readonly K[]): { readonly [P in K]?: number } | undefined {
  const fields = fieldsOf(value);
  if (!fields) return undefined;
  const result: { [P in K]?: number } = {};
  for (const key of keys) {
    const entry = number(fields[key]);
    if (entry !== undefined) result[key] = entry;
  }
  return result;
}

export const QUEUE_KEYS = [
  'bytesIn',
  'bytesOut',
  'bytesMax',
  'messagesIn',
  'messagesMax',
  'messagesInQos12',
  'messagesOut',
  'messagesOutQos12',
  'pagedMessagesOut',
  'pagedMessagesMax',
] as const;

export const INFLIGHT_KEYS = [
  'bytesIn',
  'bytesOut',
  'bytesMax',
  'messagesIn',
  'messagesInMax',
  'messagesOut',
  'messagesOutMax',
  'messagesMax',
] as const;

/** Null when there is no client id to know it by. */
function parseClientSummary(value: unknown): ConnectedClientSummary | null {
  if (typeof value === 'string') return value === '' ? null : { clientid: value, username: ANONYMOUS };
  const fields = fieldsOf(value);
  const clientid = text(fields?.clientid);
  if (!fields || clientid === undefined) return null;
  return known<ConnectedClientSummary>({
    username: text(fields.username) ?? ANONYMOUS,
    clientid,
    address: text(fields.address),
    protocol: CLIENT_PROTOCOLS.find((protocol) => protocol === fields.protocol),
    protocolVersion: CLIENT_PROTOCOL_VERSIONS.find((version) => version === fields.protocolVersion),
    connected: flag(fields.connected),
    lastConnect: time(fields.lastConnect),
    lastDisconnect: fields.lastDisconnect === null ? null : time(fields.lastDisconnect),
    queues: numbersOf(fields.queues, QUEUE_KEYS),
    remotePort: number(fields.remotePort),
    bridge: flag(fields.bridge),
    gateway: flag(fields.gateway),
    disconnectReason: text(fields.disconnectReason),
    node: number(fields.node),
    source: sourceOf(fields.source),
  });
}

/** Reads `data` itself or `data.client`. */
export function parseClientDetail(data: unknown): ConnectedClientDetail | null {
  const outer = fieldsOf(data);
  const fields = fieldsOf(outer?.client) ?? outer;
  const summary = parseClientSummary(fields);
  if (!fields || !summary) return null;
  const subscriptions = Array.isArray(fields.subscriptions) ? fields.subscriptions : undefined;
  return known<ConnectedClientDetail>({
    ...(summary as { [K in keyof ConnectedClientDetail]-?: ConnectedClientDetail[K] | undefined }),
    numSubscriptions: number(fields.numSubscriptions),
    numPublished: number(fields.numPublished),
    numSubscribed: number(fields.numSubscribed),
    numDropped: number(fields.numDropped),
    bytesPublished: number(fields.bytesPublished),
    bytesSubscribed: number(fields.bytesSubscribed),
    keepalive: number(fields.keepalive),
    cleanSession: flag(fields.cleanSession),
    tls: parseTls(fields.tls),
    listener: parseListener(fields.listener),
    will: parseWill(fields.will),
    subscriptions: subscriptions?.filter((filter): filter is string => typeof filter === 'string'),
    inflight: numbersOf(fields.inflight, INFLIGHT_KEYS),
    subscriptionQos: Array.isArray(fields.subscriptionQos)
      ? fields.subscriptionQos.filter((qos): qos is number => typeof qos === 'number')
      : undefined,
    subscriptionOptions: Array.isArray(fields.subscriptionOptions)
      ? fields.subscriptionOptions.map(parseSubscriptionOptions)
      : undefined,
  });
}

export function parseClientList(data: unknown): ListClientsData {
  const fields = fieldsOf(data);
  const list = Array.isArray(data) ? data : Array.isArray(fields?.clients) ? fields.clients : [];
  const clients: ConnectedClientSummary[] = [];
  for (const entry of list) {
    const client = parseClientSummary(entry);
    if (client) clients.push(client);
  }
  return known<ListClientsData>({
    totalCount: Math.max(number(fields?.totalCount) ?? 0, clients.length),
    clients,
    sequence: number(fields?.sequence),
    complete: flag(fields?.complete),
    since: time(fields?.since),
    unknownConnections: number(fields?.unknownConnections),
    source: sourceOf(fields?.source),
  });
}

/** Null for anything but a well-formed `clientsChanged`; entries in it that are not clients are left out. */
export function parseClientsChanged(event: unknown): ClientsChangedEvent | null {
  const fields = fieldsOf(event);
  const sequence = number(fields?.sequence);
  if (fields?.event !== 'clientsChanged' || sequence === undefined) return null;
  const changed = Array.isArray(fields.changed) ? fields.changed.map(parseClientSummary) : [];
  const removed = Array.isArray(fields.removed) ? fields.removed : [];
  const removedNodes = Array.isArray(fields.removedNodes) ? { removedNodes: fields.removedNodes.map(Number) } : {};
  const complete = flag(fields.complete);
  const since = time(fields.since);
  const unknownConnections = number(fields.unknownConnections);
  return {
    type: 'event',
    event: 'clientsChanged',
    sequence,
    changed: changed.filter((client) => client !== null),
    removed: removed.filter((id): id is string => typeof id === 'string'),
    ...removedNodes,
    ...(complete === undefined ? {} : { complete }),
    ...(since === undefined ? {} : { since }),
    ...(unknownConnections === undefined ? {} : { unknownConnections }),
  };
}

function parseTls(value: unknown): ClientTls | undefined {
  const fields = fieldsOf(value);
  if (!fields) return undefined;
  return known<ClientTls>({
    clientCertificate: text(fields.clientCertificate),
    version: text(fields.version),
    ciphers: text(fields.ciphers),
  });
}

function parseSubscriptionOptions(value: unknown): ClientSubscriptionOptions {
  const fields = fieldsOf(value);
  return known<ClientSubscriptionOptions>({
    noLocal: flag(fields?.no_local),
    retainAsPublished: flag(fields?.retain_as_published),
  });
}

function parseListener(value: unknown): ClientListener | undefined {
  const fields = fieldsOf(value);
  const port = number(fields?.port);
  if (!fields || port === undefined) return undefined;
  return known<ClientListener>({ port, bind_address: text(fields.bind_address) });
}

function parseWill(value: unknown): ClientWill | undefined {
  const fields = fieldsOf(value);
  const topic = text(fields?.topic);
  if (!fields || topic === undefined) return undefined;
  const properties: ClientWillProperty[] = [];
  for (const entry of Array.isArray(fields.properties) ? fields.properties : []) {
    const property = fieldsOf(entry);
    const identifier = text(property?.identifier);
    const content = text(property?.value);
    if (!property || identifier === undefined || content === undefined) continue;
    properties.push(known<ClientWillProperty>({ identifier, name: text(property.name), value: content }));
  }
  return known<ClientWill>({
    topic,
    qos: number(fields.qos) ?? 0,
    retain: flag(fields.retain) ?? false,
    payload: text(fields.payload) ?? '',
    properties: Array.isArray(fields.properties) ? properties : undefined,
    delayInterval: number(fields.delayInterval),
  });
}
