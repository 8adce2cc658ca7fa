import type { ControlEvent } from '../../control/envelope.ts';
import { fieldsOf, integerOf, intOf, isFields, listIn, timeOf } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';
import { INSPECT_API } from './inspect-control.ts';
import type { ClientProtocol } from './inspect-data.ts';

/**
 * Events of clients, an extension of `cedalo/inspect` by the providers of this service.
 *
 * The provider numbers the events of a broker and stores the last ones for a short time. `listClientEvents` (`after`)
 * returns at most MAX_EVENTS_PAGE events with higher numbers, oldest first. `clientEventsChanged` events report that
 * there are new ones. A caller whose next number is missing has lost events, and the first listed number says how many.
 */
const CLIENT_EVENT_KINDS = ['CONNECTED', 'DISCONNECTED', 'TAKEN_OVER', 'GAP'] as const;

/** See the descriptions in the schema. */
const CLIENT_END_REASONS = [
  'CLIENT_DISCONNECTED',
  'CONNECTION_CLOSED',
  'KEEP_ALIVE_TIMEOUT',
  'ADMINISTRATOR',
  'NOT_AUTHORIZED',
  'BROKER_RESTARTED',
  'PROTOCOL_ERROR',
  'OTHER',
] as const;
export type ClientEndReason = (typeof CLIENT_END_REASONS)[number];

/** Fields that the broker does not report are `null`. */
export interface ClientEvent {
  /** GAP: events may be missing in the `from` milliseconds of the epoch until `at`; `detail` says why. */
  readonly kind: (typeof CLIENT_EVENT_KINDS)[number];
  /** Epoch milliseconds. */
  readonly at: number;
  readonly from: number | null;
  readonly clientId: string | null;
  readonly username: string | null;
  readonly address: string | null;
  readonly listenerPort: number | null;
  readonly protocol: ClientProtocol | null;
  /** DISCONNECTED: why the connection ended. */
  readonly reason: ClientEndReason | null;
  /** Further details in the words of the broker. */
  readonly detail: string | null;
}

export interface ClientEventPage {
  /** Identifies the run of the log; the numbers of another run are not valid here. */
  readonly log: string;
  /** Epoch milliseconds since when the provider notices all events. */
  readonly since: number;
  /** Number of the first of `events`; the others follow without gaps. */
  readonly first: number;
  /** Number of the last event of the log. */
  readonly sequence: number;
  readonly events: readonly ClientEvent[];
  /** By how much more than LATE_EVENT_MS the provider notices events late now, in milliseconds. Default: 0. */
  readonly lateMs?: number;
}

export const MAX_EVENTS_PAGE = 1_000;
/** A longer delay is an error of the provider. */
const MAX_LATE_MS = 60_000;

/** An event may be noticed this long after it happened, because the broker, the network or this process is slow. */
export const LATE_EVENT_MS = 2_000;

/** Longer names are truncated, in UTF-16 code units. */
const MAX_EVENT_NAME = 256;

export const clientEventsChanged = (log: string, sequence: number): ControlEvent => ({
  type: 'event',
  event: 'clientEventsChanged',
  log,
  sequence,
});

export const isClientEventsChanged = (event: unknown): boolean =>
  isFields(event) && event.event === 'clientEventsChanged';

/** Returns `null` if the response is none of this extension. Errors: as `ControlCaller`. */
export async function listClientEvents(caller: ControlCaller, after: number): Promise<ClientEventPage | null> {
  const data: unknown = await caller.call(INSPECT_API, 'listClientEvents', { after });
  if (!isFields(data) || typeof data.log !== 'string') return null;
  const since = timeOf(data.since);
  const [first, sequence] = [data.first, data.sequence].map(integerOf);
  if (since === null || first == null || sequence == null) return null;
  const events = listIn(data, 'events').slice(0, MAX_EVENTS_PAGE).map(eventOf);
  const lateMs = Math.min(Math.max(0, integerOf(data.lateMs) ?? 0), MAX_LATE_MS);
  return { log: data.log.slice(0, MAX_EVENT_NAME), since, first, sequence, events, lateMs };
}

/** A value of a wrong type counts as missing. Numbers of events stay right: what is no event is a GAP. */
function eventOf(value: unknown): ClientEvent {
  const fields = fieldsOf(value);
  const at = timeOf(fields.at);
  return {
    kind: (at !== null && CLIENT_EVENT_KINDS.find((kind) => kind === fields.kind)) || 'GAP',
    at: at ?? Date.now(),
    from: timeOf(fields.from),
    clientId: textOf(fields.clientId),
    username: textOf(fields.username),
    address: textOf(fields.address),
    listenerPort: intOf(fields.listenerPort),
    protocol: fields.protocol === 'MQTT' || fields.protocol === 'MQTT-WS' ? fields.protocol : null,
    reason: CLIENT_END_REASONS.find((reason) => reason === fields.reason) ?? null,
    detail: textOf(fields.detail),
  };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? truncatedName(value) : null);

/** Without half of a surrogate pair, which has no form in UTF-8. */
export const truncatedName = (name: string): string =>
  (name.length > MAX_EVENT_NAME ? `${name.slice(0, MAX_EVENT_NAME - 1)}…` : name).toWellFormed();
