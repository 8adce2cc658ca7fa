import type { ClientEvent } from '../../../protocol/apis/clients/client-events.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import type { HistoryRow } from '../model/history-module.ts';

/**
 * CLIENT_ID_CONFLICT: several clients use the client id in turn. LIMIT_EXCEEDED: a subscription or retained message
 * beyond a limit was refused.
 */
const STORED_EVENT_KINDS = [
  'CONNECTED',
  'DISCONNECTED',
  'TAKEN_OVER',
  'REFUSED',
  'LIMIT_EXCEEDED',
  'CLIENT_ID_CONFLICT',
] as const;
export type StoredEventKind = (typeof STORED_EVENT_KINDS)[number];

/** Fields that the broker does not report are `null`. */
export interface StoredEvent extends Omit<ClientEvent, 'kind' | 'from'> {
  readonly broker: string;
  /** Number among the events of the broker at this time. An event that is stored again has the same one. */
  readonly id: number;
  readonly kind: StoredEventKind;
  /** What was refused, with the count until this event. `null` for other kinds. */
  readonly refusal: Refusal | null;
  /** Number of refusals since the previous event of the same entry. Otherwise 1. */
  readonly count: number;
}

/** Events of a broker may be missing between `from` and `at`, in epoch milliseconds. */
export interface EventGap {
  readonly broker: string;
  readonly from: number;
  readonly at: number;
  readonly reason: EventGapReason;
  readonly detail: string | null;
}

/**
 * NOT_FOLLOWED: this service was not connected to the broker, or did not run. LOG_INCOMPLETE: the log of the broker was
 * not received completely. OVERFLOW: more events than could be passed on or written. NOT_WRITTEN: the history could not
 * be written.
 */
const EVENT_GAP_REASONS = ['NOT_FOLLOWED', 'LOG_INCOMPLETE', 'OVERFLOW', 'NOT_WRITTEN'] as const;
export type EventGapReason = (typeof EVENT_GAP_REASONS)[number];

/** START and STOP of following a broker. ALIVE: `follower` still follows what it has started. */
export interface FollowNote {
  readonly at: number;
  /** Empty for ALIVE. */
  readonly broker: string;
  readonly follower: string;
  readonly state: 'START' | 'STOP' | 'ALIVE';
  /** The log of the provider, whose numbers are the ids of the events. `null` for ALIVE. */
  readonly log: string | null;
}

export type EventArrival = { readonly event: StoredEvent } | { readonly gap: EventGap } | { readonly note: FollowNote };

/** In the order of the columns of `client_event`. */
export const eventRow = ({ at, broker, id, kind, count, ...event }: StoredEvent): HistoryRow => [
  at,
  broker,
  id,
  kind,
  event.clientId,
  event.username,
  event.address,
  event.listenerPort,
  event.protocol,
  event.reason,
  event.detail,
  count,
  event.refusal && JSON.stringify(event.refusal),
];

/** A row that the store returns. */
export interface EventRecord extends Omit<StoredEvent, 'refusal'> {
  readonly refusal: string | null;
}

export const EVENT_COLUMNS =
  'at, broker, id, kind, client AS "clientId", account AS "username", address, port AS "listenerPort", protocol, reason, detail, count, refusal';

export const storedEvent = ({ refusal, ...event }: EventRecord): StoredEvent => ({
  ...event,
  refusal: refusal === null ? null : (JSON.parse(refusal) as Refusal),
});
