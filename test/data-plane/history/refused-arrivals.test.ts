import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  CLIENT_EVENTS,
  type ClientEventQueries,
} from '../../../src/data-plane/history/client-events/client-events-module.ts';
import type { EventArrival, StoredEvent } from '../../../src/data-plane/history/client-events/stored-events.ts';
import { HistoryThread } from '../../../src/data-plane/history/hosting/history-thread.ts';
import { emptyDatabase, silentLog, temporaryFolder } from '../../support/database.ts';
import { usePostgres } from '../../support/postgres.ts';
import { programUrl } from '../../support/programs.ts';
import { onTestFinished } from '../../support/shared.ts';

const postgres = usePostgres();
const DAY = 86_400_000;
const BROKER = 'brk_00000000000000000000000000';

/** What a broker may report of clients, and a database cannot store as it is. */
const ODD: readonly Partial<StoredEvent>[] = [
  { clientId: 'a\0b' },
  { username: '\ud800' },
  { clientId: 'é'.repeat(30_000) },
  // Random, so that the database cannot compress it.
  { clientId: Array.from({ length: 8_000 }, () => Math.random().toString(36).slice(2, 10)).join('') },
  { id: 1e300 },
  { listenerPort: 0.5 },
  { listenerPort: Number.NaN },
  { clientId: {} as string },
  { at: -1 },
  { at: Number.NaN },
  { at: 1e300 },
  { at: 8_640_000_000_000_000 },
  { at: Date.UTC(9999, 11, 31) },
  { at: 0 },
];

describe.each(['SQLite', 'PostgreSQL'])('a history in %s', (engine) => {
  test('stores the events around those that the database refuses, and says that these are missing', async () => {
    const place =
      engine === 'SQLite'
        ? { file: join(temporaryFolder(), 'history.db'), minFreeBytes: 0 }
        : { databaseUrl: await emptyDatabase(postgres) };
    const thread = new HistoryThread({
      place,
      keepMs: 30 * DAY,
      maxBytes: 1e9,
      workerUrl: programUrl('src/data-plane/history/hosting/history-worker.ts'),
      log: silentLog,
    });
    onTestFinished(() => thread.close());
    const history = thread.module<EventArrival, ClientEventQueries>(CLIENT_EVENTS);
    const now = Date.now();
    const write = (id: number, odd: Partial<StoredEvent> = {}) => {
      const event = { ...PLAIN, id, at: now, clientId: `device-${id}`, ...odd };
      history.insert({ event }, event.at, 250);
    };
    for (const [index, odd] of ODD.entries()) {
      write(2 * index + 1, odd);
      write(2 * index + 2);
    }
    await thread.flush();
    const filter = { brokers: [BROKER], filter: {}, before: null, after: null, isUpwards: false, count: 100 };
    const { events } = await history.query('page', filter);
    const plain = events.map(({ clientId }) => clientId).filter((name) => name?.startsWith('device-'));
    for (const index of ODD.keys()) expect(plain).toContain(`device-${2 * index + 2}`);
    expect(thread.state.problem).toBeNull();
    const gaps = await history.query('gaps', { brokers: [BROKER], from: now - 30 * DAY, to: now + DAY });
    expect(gaps).not.toEqual([]);
    expect(thread.counts.waiting).toBe(0);
    if (engine === 'PostgreSQL') expect(events.map(({ clientId }) => clientId)).toContain('a\u{FFFD}b');
  });
});

const PLAIN = {
  broker: BROKER,
  kind: 'CONNECTED',
  username: null,
  address: null,
  listenerPort: null,
  protocol: null,
  reason: null,
  detail: null,
  refusal: null,
  count: 1,
} as const;
