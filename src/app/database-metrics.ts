import { Gauge, type Registry } from 'prom-client';
import { readGauge } from '../platform/read-metrics.ts';
import { throttledRead } from '../platform/scheduling/throttled-read.ts';
import { within } from '../platform/scheduling/within.ts';
import type { Storage } from '../platform/storage/storage.ts';

/** Without a response in this time the database counts as down. */
const TIMEOUT_MS = 2_000;

/** Registers the state of the database. Returns a function to await before each scrape, which never rejects. */
export function registerDatabaseMetrics({ ping, pool }: Storage, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const up = new Gauge({
    name: 'brokergraph_database_up',
    help: `1 if the database last responded within ${TIMEOUT_MS / 1_000} s, else 0`,
    registers,
  });
  // Until the first response: the service starts only with its database.
  up.set(1);
  const seconds = new Gauge({
    name: 'brokergraph_database_response_seconds',
    help: 'How long the last response of the database took, with waiting for a free connection',
    registers,
  });
  if (pool !== null) {
    readGauge(registry, {
      name: 'brokergraph_database_connections',
      help: 'Connections of this process to PostgreSQL, and statements that wait for one',
      read: () => [
        [{ state: 'busy' }, pool.totalCount - pool.idleCount],
        [{ state: 'idle' }, pool.idleCount],
        [{ state: 'waiting' }, pool.waitingCount],
      ],
    });
  }
  return throttledRead(async () => {
    const start = performance.now();
    const isUp = await within(TIMEOUT_MS, ping(), () => new Error('the database does not respond')).then(
      () => 1,
      () => 0,
    );
    up.set(isUp);
    seconds.set((performance.now() - start) / 1_000);
  });
}
