import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import type { HistoryModule, HistoryReader, HistoryRow, HistoryTable } from '../model/history-module.ts';
import { gapsOf } from '../store/gaps.ts';
import { type EventPageRequest, readEvents } from './event-pages.ts';
import { type EventArrival, type EventGap, eventRow, type FollowNote } from './stored-events.ts';

const DAY_MS = 86_400_000;
export const CLIENT_EVENTS = 'client-events';

const TABLES = {
  event: {
    name: 'client_event',
    columns: {
      broker: 'TEXT',
      id: 'INTEGER',
      kind: 'TEXT',
      client: 'TEXT',
      account: 'TEXT',
      address: 'TEXT',
      port: 'INTEGER',
      protocol: 'TEXT',
      reason: 'TEXT',
      detail: 'TEXT',
      count: 'INTEGER',
      refusal: 'TEXT',
    },
    // With a key that begins with the broker, SQLite would not choose the index of a client.
    key: ['at', 'id', 'broker'],
    indexes: [
      ['broker', 'at', 'id'],
      ['client', 'broker', 'at', 'id'],
      ['account', 'broker', 'at', 'id'],
    ],
    partitionMs: DAY_MS,
  },
  /** The last state of an entry of a list of refusals is its newest row. */
  refusal: {
    name: 'client_refusal',
    columns: { broker: 'TEXT', entry: 'TEXT', refusal: 'TEXT' },
    key: ['broker', 'at', 'entry'],
    partitionMs: 7 * DAY_MS,
  },
  gap: {
    name: 'client_gap',
    columns: { broker: 'TEXT', since: 'TIME', reason: 'TEXT', detail: 'TEXT' },
    key: ['broker', 'at', 'since'],
    partitionMs: 7 * DAY_MS,
  },
  /** ALIVE has no broker, because one row is for all that a process follows. */
  note: {
    name: 'client_follow',
    columns: { broker: 'TEXT', follower: 'TEXT', state: 'TEXT', log: 'TEXT' },
    indexes: [
      ['broker', 'at'],
      ['follower', 'state', 'at'],
    ],
    partitionMs: 7 * DAY_MS,
  },
} as const satisfies Readonly<Record<string, HistoryTable>>;

const QUERIES = {
  page: (db: HistoryReader, request: EventPageRequest) => readEvents(db, request),
  gaps: readGaps,
  end: readEnd,
  coverage: readCoverage,
  refusals: readRefusals,
};

export type ClientEventQueries = typeof QUERIES;

/** Events of clients, what brokers refused, and when neither was recorded. */
export const clientEventsModule: HistoryModule<EventArrival, ClientEventQueries> = {
  name: CLIENT_EVENTS,
  tables: Object.values(TABLES),
  rowsOf(arrived) {
    const rows = { event: [], refusal: [], gap: [], note: [] } as Record<keyof typeof TABLES, HistoryRow[]>;
    for (const arrival of arrived) {
      if ('event' in arrival) {
        const { event } = arrival;
        const { at, broker, refusal } = event;
        rows.event.push(eventRow(event));
        if (refusal !== null) rows.refusal.push([at, broker, refusal.id, JSON.stringify(refusal)]);
      } else if ('gap' in arrival) {
        const { at, broker, from, reason, detail } = arrival.gap;
        rows.gap.push([at, broker, from, reason, detail]);
      } else {
        const { at, broker, follower, state, log } = arrival.note;
        rows.note.push([at, broker, follower, state, log]);
      }
    }
    return new Map(Object.entries(rows).map(([table, list]) => [TABLES[table as keyof typeof TABLES].name, list]));
  },
  queries: QUERIES,
};

/** Maximum number of gaps that are returned, the newest first. */
export const MAX_EVENT_GAPS = 100;

interface GapRequest {
  readonly brokers: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Gaps that touch a time, the newest first. Those of the store concern all brokers. */
async function readGaps(db: HistoryReader, { brokers, from, to }: GapRequest): Promise<EventGap[]> {
  const ofStore = (await gapsOf(db, CLIENT_EVENTS, from, to)).map(
    (gap): EventGap => ({
      broker: '',
      from: gap.from,
      at: gap.to,
      reason: gap.reason === 'QUEUE_FULL' ? 'OVERFLOW' : 'NOT_WRITTEN',
      detail: `${gap.lost} entries of the history were lost.`,
    }),
  );
  const ofBrokers = await Promise.all(
    brokers.map((broker) =>
      db.all<EventGap>(
        `SELECT broker, since AS "from", at, reason, detail FROM history.client_gap
         WHERE broker = $1 AND at >= $2 AND since <= $3 ORDER BY at DESC LIMIT ${MAX_EVENT_GAPS}`,
        [broker, from, to],
      ),
    ),
  );
  return [...ofStore, ...ofBrokers.flat()].sort((a, b) => b.at - a.at).slice(0, MAX_EVENT_GAPS);
}

/** Where the record of a broker's events ends. Times in epoch milliseconds; 0: there is none. */
export interface EventsEnd {
  /** Everything until then is written, except what was noticed late. */
  readonly at: number;
  /** The log of the provider. */
  readonly log: string | null;
  /** The last connect or disconnect, and the last refusal, in the time of the broker. */
  readonly lastEvent: number;
  readonly lastRefusal: number;
  /** The entry of the last refusal; `null` if there is none. */
  readonly refusalEntry: string | null;
}

/** Returns `null` if no event of the broker was recorded. */
async function readEnd(db: HistoryReader, { broker }: { readonly broker: string }): Promise<EventsEnd | null> {
  const [note] = await db.all<Omit<FollowNote, 'broker'>>(
    'SELECT at, follower, state, log FROM history.client_follow WHERE broker = $1 ORDER BY at DESC LIMIT 1',
    [broker],
  );
  // Their own table has the refusals, so a broker without any is not searched for them.
  const [event] = await db.all<{ at: number }>(
    'SELECT at FROM history.client_event WHERE id > 0 AND broker = $1 ORDER BY at DESC LIMIT 1',
    [broker],
  );
  const lastEvent = event?.at ?? 0;
  const [refusal] = await db.all<{ at: number; entry: string }>(
    'SELECT at, entry FROM history.client_refusal WHERE broker = $1 ORDER BY at DESC LIMIT 1',
    [broker],
  );
  const last = { lastEvent, lastRefusal: refusal?.at ?? 0, refusalEntry: refusal?.entry ?? null };
  if (note === undefined) return lastEvent === 0 ? null : { at: lastEvent, log: null, ...last };
  const alive = note.state === 'STOP' ? null : await lastAlive(db, note.follower);
  return { at: Math.max(note.at, alive ?? 0), log: note.log, ...last };
}

async function lastAlive(db: HistoryReader, follower: string): Promise<number | null> {
  const [row] = await db.all<{ at: number | null }>(
    "SELECT max(at) AS at FROM history.client_follow WHERE follower = $1 AND state = 'ALIVE'",
    [follower],
  );
  return row?.at ?? null;
}

/** What is recorded of several brokers. */
export interface EventCoverage {
  /** Since when the events of all of them are recorded, in epoch milliseconds; `null` if those of one never were. */
  readonly since: number | null;
  /** Whether one of them only lists its clients, so that short connections are not noticed. */
  readonly isListed: boolean;
}

/** The log of a broker whose lists of clients are compared. */
export const LISTED = 'LISTED';

async function readCoverage(
  db: HistoryReader,
  { brokers }: { readonly brokers: readonly string[] },
): Promise<EventCoverage> {
  const all = await Promise.all(
    brokers.map(async (broker) => {
      const [first] = await db.all<{ at: number | null; listed: number }>(
        `SELECT min(at) AS at, count(CASE WHEN log = '${LISTED}' THEN 1 END) AS listed
         FROM history.client_follow WHERE broker = $1`,
        [broker],
      );
      return { at: first?.at ?? null, isListed: (first?.listed ?? 0) > 0 };
    }),
  );
  const times = all.map(({ at }) => at).filter((at) => at !== null);
  // PostgreSQL deletes events by days, and the notes, which are few, by weeks.
  const [oldest] = await db.all<{ at: number | null }>('SELECT min(at) AS at FROM history.client_event');
  const from = Math.floor((oldest?.at ?? 0) / DAY_MS) * DAY_MS;
  return {
    since: times.length === 0 || times.length < all.length ? null : Math.max(from, ...times),
    isListed: all.some(({ isListed }) => isListed),
  };
}

const MAX_REFUSAL_ROWS = 10_000;

interface RefusalRequest {
  readonly broker: string;
  /** Entries whose id begins with it are not returned. */
  readonly exceptLog: string;
  readonly count: number;
}

/** The last state of the entries that were refused last, the newest first. */
async function readRefusals(db: HistoryReader, { broker, exceptLog, count }: RefusalRequest): Promise<Refusal[]> {
  const rows = await db.all<{ entry: string; refusal: string }>(
    `SELECT entry, refusal FROM history.client_refusal WHERE broker = $1 ORDER BY at DESC LIMIT ${MAX_REFUSAL_ROWS}`,
    [broker],
  );
  const newest = new Map<string, string>();
  for (const { entry, refusal } of rows) {
    if (newest.size < count && !entry.startsWith(exceptLog) && !newest.has(entry)) newest.set(entry, refusal);
  }
  return [...newest.values()].map((text) => JSON.parse(text) as Refusal);
}
