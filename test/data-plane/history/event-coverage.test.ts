import { describe, expect, onTestFinished, test } from 'vitest';
import { clientEventsModule } from '../../../src/data-plane/history/client-events/client-events-module.ts';
import type { EventArrival } from '../../../src/data-plane/history/client-events/stored-events.ts';
import { HistoryCore } from '../../../src/data-plane/history/store/history-core.ts';
import { PostgresqlHistory } from '../../../src/data-plane/history/store/postgresql-history.ts';
import { emptyDatabase } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The begin of a partition of a week. */
const START = Math.floor(1_700_000_000_000 / (7 * DAY)) * 7 * DAY;
const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('events are recorded since the first of the days that are left', async () => {
    const core = new HistoryCore({
      database: new PostgresqlHistory(await emptyDatabase(postgres)),
      modules: [clientEventsModule],
      keepMs: 3 * DAY,
      maxBytes: 1e12,
      onState: () => undefined,
      onCut: () => undefined,
      onProblem: () => undefined,
    });
    await core.open();
    onTestFinished(() => core.close());
    const ofClient = { clientId: 'a', username: null, address: null, listenerPort: null, protocol: null };
    const eventAt = (at: number): EventArrival => ({
      event: {
        ...{ ...ofClient, at, broker: 'brk_a', id: 1, kind: 'CONNECTED' },
        ...{ reason: null, detail: null, refusal: null, count: 1 },
      },
    });
    const note = { at: START + HOUR, broker: 'brk_a', follower: 'it', state: 'START', log: 'x' } as const;
    const arrived = [{ note }, ...[0, 1, 2, 3, 4, 5].map((day) => eventAt(START + day * DAY + 2 * HOUR))];
    expect(await core.write([{ module: clientEventsModule.name, arrived, gaps: [] }])).toMatchObject({ problem: null });
    const since = async () => {
      const found = await core.query(clientEventsModule.name, 'coverage', { brokers: ['brk_a'] });
      return ((found as { since: number }).since - START) / HOUR;
    };
    expect(await since()).toBe(1);
    // The notes of a week are deleted together.
    await core.maintain(START + 5 * DAY + 3 * HOUR);
    expect(await since()).toBe(48);
  });
});
