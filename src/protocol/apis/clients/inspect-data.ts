import type { ClientRef } from './client-key.ts';

/** The user name in a list of a client that gave none. */
export const ANONYMOUS = '<anonymous>';

export const CLIENT_PROTOCOLS = ['MQTT', 'MQTT-SN', 'MQTT-WS'] as const;
export type ClientProtocol = (typeof CLIENT_PROTOCOLS)[number];
export const CLIENT_PROTOCOL_VERSIONS = ['v3.1', 'v3.1.1', 'v5'] as const;
export type ClientProtocolVersion = (typeof CLIENT_PROTOCOL_VERSIONS)[number];

/** BROKER: the broker lists its clients. LOG_FEED: the clients are followed through the log of the broker. */
export const CLIENT_SOURCES = ['BROKER', 'LOG_FEED'] as const;
export type ClientSource = (typeof CLIENT_SOURCES)[number];

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

export type ClientQueues = { readonly [Key in (typeof QUEUE_KEYS)[number]]?: number };

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

/** Messages of QoS 1 and 2 whose acknowledgement is not complete. */
export type ClientInflight = { readonly [Key in (typeof INFLIGHT_KEYS)[number]]?: number };

/** A client in a list. Absent fields are unknown. Only providers of this service report extensions. */
export interface ConnectedClientSummary extends ClientRef {
  readonly username: string;
  readonly address?: string;
  readonly protocol?: ClientProtocol;
  readonly protocolVersion?: ClientProtocolVersion;
  readonly connected?: boolean;
  /** Epoch milliseconds. */
  readonly lastConnect?: number;
  /** Epoch milliseconds; `null` if the client never disconnected. */
  readonly lastDisconnect?: number | null;
  readonly queues?: ClientQueues;
  /** Extension: TCP port of the client. */
  readonly remotePort?: number;
  /** Extension: whether the client is a bridge of another broker. */
  readonly bridge?: boolean;
  /** Extension: whether the client is a connection of this service. */
  readonly gateway?: boolean;
  /** Extension: why the last connection ended, in the broker's words. */
  readonly disconnectReason?: string;
  /** Extension, with `node`: the source of the entry. */
  readonly source?: ClientSource;
}

/** Messages that a client has not received. */
export interface ClientBacklog {
  /** As in `queues`. */
  readonly messagesOut: number;
  readonly numDropped: number;
}

export interface BacklogPage {
  /** Clients with a backlog, in the order of their ids. All others have none. */
  readonly backlogs: readonly (ClientBacklog & ClientRef)[];
  /** The client id after which the next page begins. Absent on the last page. */
  readonly next?: string;
  /** In a cluster: nodes that do not report backlogs. */
  readonly unknownNodes?: readonly number[];
}

export interface ClientTls {
  /** PEM. */
  readonly clientCertificate?: string;
  readonly version?: string;
  readonly ciphers?: string;
}

export interface ClientListener {
  readonly port: number;
  readonly bind_address?: string;
  /** Extension: whether connections to the listener are encrypted. */
  readonly tls?: boolean;
}

export interface ClientWillProperty {
  /** In Mosquitto's spelling: `content-type`. */
  readonly identifier: string;
  /** Only of a `user-property`. */
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

export interface ClientSubscriptionOptions {
  readonly noLocal?: boolean;
  readonly retainAsPublished?: boolean;
}

/**
 * Why the number of subscriptions of a client is not known. EARLIER: the session may be older than the followed log.
 * TRUNCATED: a log line was truncated, or may be about another client. LIMIT: there are more than are counted.
 */
export const UNCOUNTED_REASONS = ['EARLIER', 'TRUNCATED', 'LIMIT'] as const;
export type UncountedReason = (typeof UNCOUNTED_REASONS)[number];

export interface ConnectedClientDetail extends ConnectedClientSummary {
  readonly numSubscriptions?: number;
  /** Extension of the log: why `numSubscriptions` is absent. Default: the broker does not log subscriptions. */
  readonly uncounted?: UncountedReason;
  readonly numPublished?: number;
  readonly numSubscribed?: number;
  readonly numDropped?: number;
  readonly bytesPublished?: number;
  readonly bytesSubscribed?: number;
  /** Seconds. */
  readonly keepalive?: number;
  readonly cleanSession?: boolean;
  /** Extension: `null` if the connection is not encrypted. */
  readonly tls?: ClientTls | null;
  readonly listener?: ClientListener;
  readonly will?: ClientWill;
  readonly subscriptions?: readonly string[];
  readonly inflight?: ClientInflight;
  /** Extension: the granted QoS of each of `subscriptions`, in the same order. */
  readonly subscriptionQos?: readonly number[];
  /** Extension: the MQTT 5 options of each of `subscriptions`, in the same order. */
  readonly subscriptionOptions?: readonly ClientSubscriptionOptions[];
}

/** How much of a broker's clients a list contains. */
export interface ListState {
  /** `false` if clients are missing or may be missing. Absent in a list: complete. Absent in an event: unchanged. */
  readonly complete?: boolean;
  /** Epoch milliseconds since when clients are followed. */
  readonly since?: number;
  /** Number of connections that are known to be missing. Absent: unknown, or `complete` is true. */
  readonly unknownConnections?: number;
  /** Extension: why `complete` is false. */
  readonly incompleteReason?: string;
}

export interface ListClientsData extends ListState {
  /** Size of the whole list, not of the page. */
  readonly totalCount: number;
  readonly clients: readonly ConnectedClientSummary[];
  /** Number of the last `clientsChanged` event that the list includes. Absent if the provider sends no events. */
  readonly sequence?: number;
  /** In a cluster: LOG_FEED if one of its nodes is followed through its log. */
  readonly source?: ClientSource;
}

export interface ClientsChange extends ListState {
  readonly sequence: number;
  /** New and changed clients. A persistent session that goes offline is changed, not removed. */
  readonly changed: readonly ConnectedClientSummary[];
  readonly removed: readonly string[];
  /** Extension: the node of each of `removed`, in the same order. */
  readonly removedNodes?: readonly number[];
}

export interface ClientsChangedEvent extends ClientsChange {
  readonly type: 'event';
  readonly event: 'clientsChanged';
  readonly [field: string]: unknown;
}
