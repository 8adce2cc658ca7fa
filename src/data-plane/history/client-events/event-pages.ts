import type { ClientEndReason } from '../../../protocol/apis/clients/client-events.ts';
import type { ClientProtocol } from '../../../protocol/apis/clients/inspect-data.ts';
import type { HistoryReader, HistoryValue } from '../model/history-module.ts';
import {
  EVENT_COLUMNS,
  type EventRecord,
  type StoredEvent,
  type StoredEventKind,
  storedEvent,
} from './stored-events.ts';

export interface EventFilter {
  readonly clientId?: string | null | undefined;
  readonly username?: string | null | undefined;
  readonly address?: string | null | undefined;
  readonly listenerPort?: number | null | undefined;
  readonly protocol?: ClientProtocol | null | undefined;
  readonly kinds?: readonly StoredEventKind[] | null | undefined;
  readonly reasons?: readonly ClientEndReason[] | null | undefined;
  /** Epoch milliseconds, included. */
  readonly from?: number | null | undefined;
  readonly to?: number | null | undefined;
}

/** Where an event is in the order: by time, number and broker. */
export interface EventPlace {
  readonly at: number;
  readonly id: number;
  readonly broker: string;
}

export interface EventPageRequest {
  readonly brokers: readonly string[];
  readonly filter: EventFilter;
  /** Events before it in time, and events after it in time. */
  readonly before: EventPlace | null;
  readonly after: EventPlace | null;
  /** Reads from the oldest event on; otherwise from the newest one. */
  readonly isUpwards: boolean;
  readonly count: number;
}

export interface EventPage {
  /** In the order of reading. */
  readonly events: readonly StoredEvent[];
  /** Where the search ended before the page was full; `null` if there are no further events. */
  readonly end: EventPlace | null;
}

/** Events that one page searches, in equal parts of all brokers; the next page continues there. */
const MAX_SEARCHED = 200_000;
const WINDOW = 20_000;
/** Of one broker. */
const MIN_SEARCHED = 1_000;

/** A page of the events of some brokers. A page of one client or account reads its events only. */
export async function readEvents(db: HistoryReader, request: EventPageRequest): Promise<EventPage> {
  const { brokers, count, isUpwards } = request;
  const most = Math.max(MIN_SEARCHED, Math.floor(MAX_SEARCHED / Math.max(1, brokers.length)));
  const pages = await Promise.all(brokers.map((broker) => eventsOf(db, broker, request, most)));
  const compare = isUpwards ? byPlace : (a: EventPlace, b: EventPlace) => byPlace(b, a);
  const ends = pages.flatMap(({ end }) => (end === null ? [] : [end])).sort(compare);
  const [nearest] = ends;
  const events = pages
    .flatMap((page) => page.events)
    .filter((event) => nearest === undefined || compare(event, nearest) <= 0)
    .sort(compare)
    .slice(0, count);
  const last = events.at(-1);
  const isFull = events.length === count;
  return { events: events.map(storedEvent), end: isFull ? (last ?? null) : (nearest ?? null) };
}

export const byPlace = (a: EventPlace, b: EventPlace): number =>
  a.at - b.at || a.id - b.id || (a.broker < b.broker ? -1 : a.broker > b.broker ? 1 : 0);

interface BrokerPage {
  readonly events: readonly EventRecord[];
  /** The last searched place if the search ended before `count` events. */
  readonly end: EventPlace | null;
}

/** Searches at most `most` events. */
async function eventsOf(
  db: HistoryReader,
  broker: string,
  request: EventPageRequest,
  most: number,
): Promise<BrokerPage> {
  const { filter, count, isUpwards } = request;
  const step = Math.min(WINDOW, most);
  const events: EventRecord[] = [];
  let bounds = boundsOf(request, broker);
  for (let searched = 0; ; searched += step) {
    if (searched >= most) return { events, end: (isUpwards ? bounds.after : bounds.before) ?? null };
    const scope = scopeOf(broker, filter, bounds);
    const end = isSelective(filter) ? null : await placeOf(db, scope, isUpwards, step);
    const rest = conditionsOf(filter, scope.values.length);
    // The window includes its end.
    const window =
      end === null ? NOTHING : placeCondition(isUpwards ? '<=' : '>=', end, scope.values.length + rest.values.length);
    events.push(
      ...(await db.all<EventRecord>(
        `SELECT ${EVENT_COLUMNS} FROM history.client_event WHERE ${[scope.sql, rest.sql, window.sql].filter(Boolean).join(' AND ')}
         ORDER BY ${orderOf(isUpwards)} LIMIT ${count - events.length}`,
        [...scope.values, ...rest.values, ...window.values],
      )),
    );
    if (end === null || events.length === count) return { events, end: null };
    bounds = isUpwards ? { ...bounds, after: end } : { ...bounds, before: end };
  }
}

/** Whether an index has all conditions, so that no event is read in vain. */
export const isSelective = ({ address, listenerPort, protocol, kinds, reasons }: EventFilter): boolean =>
  [address, listenerPort, protocol, kinds, reasons].every((condition) => condition == null);

interface Condition {
  readonly sql: string;
  readonly values: readonly HistoryValue[];
}

interface Bounds {
  readonly before: EventPlace | null;
  readonly after: EventPlace | null;
}

const NOTHING: Condition = { sql: '', values: [] };

/** Events of other brokers at the same time and with the same number are before or after the place. */
function boundsOf({ before, after }: EventPageRequest, broker: string): Bounds {
  return {
    before: before && (broker < before.broker ? { ...before, id: before.id + 1 } : before),
    after: after && (broker > after.broker ? { ...after, id: after.id - 1 } : after),
  };
}

/** What an index of the table has. */
function scopeOf(broker: string, { clientId, username, from, to }: EventFilter, { before, after }: Bounds): Condition {
  const values: HistoryValue[] = [broker];
  const parts = ['broker = $1'];
  const add = (sql: string, value: HistoryValue) => {
    values.push(value);
    parts.push(`${sql} $${values.length}`);
  };
  if (clientId != null) add('client =', clientId);
  if (username != null) add('account =', username);
  if (from != null) add('at >=', from);
  if (to != null) add('at <=', to);
  for (const [place, comparison] of [
    [before, '<'],
    [after, '>'],
  ] as const) {
    if (place === null) continue;
    const condition = placeCondition(comparison, place, values.length);
    parts.push(condition.sql);
    values.push(...condition.values);
  }
  return { sql: parts.join(' AND '), values };
}

const placeCondition = (comparison: string, { at, id }: EventPlace, used: number): Condition => ({
  sql: `(at, id) ${comparison} ($${used + 1}, $${used + 2})`,
  values: [at, id],
});

function conditionsOf({ address, listenerPort, protocol, kinds, reasons }: EventFilter, used: number): Condition {
  const values: HistoryValue[] = [];
  const parts: string[] = [];
  const add = (column: string, list: readonly HistoryValue[] | null) => {
    if (list === null) return;
    const places = list.map((value) => `$${used + values.push(value)}`);
    parts.push(list.length === 0 ? '1 = 0' : `${column} IN (${places.join(', ')})`);
  };
  add('address', address == null ? null : [address]);
  add('port', listenerPort == null ? null : [listenerPort]);
  add('protocol', protocol == null ? null : [protocol]);
  add('kind', kinds ?? null);
  add('reason', reasons ?? null);
  return { sql: parts.join(' AND '), values };
}

/** The last place of a window; `null` if there are no more events than in one window. */
async function placeOf(
  db: HistoryReader,
  { sql, values }: Condition,
  isUpwards: boolean,
  step: number,
): Promise<EventPlace | null> {
  const [place] = await db.all<EventPlace>(
    `SELECT at, id, broker FROM history.client_event WHERE ${sql} ORDER BY ${orderOf(isUpwards)} LIMIT 1 OFFSET ${step - 1}`,
    values,
  );
  return place ?? null;
}

const orderOf = (isUpwards: boolean): string => (isUpwards ? 'at, id' : 'at DESC, id DESC');
