import { expect } from 'vitest';
import { startCrowd } from './crowd.ts';
import type { ObservedBroker } from './observed-broker.ts';
import { randomOf } from './random.ts';
import { expectDetails, expectHeld, expectLists } from './truth-check.ts';
import { watchAgainAndAgain, watchBySse, watchByWebSocket } from './watchers.ts';

interface RandomClientsOptions {
  readonly count: number;
  readonly seconds: number;
  /** Between two steps of a client, at most. */
  readonly maxPauseMs: number;
  readonly mixesExpiry: boolean;
}

/**
 * Clients connect, subscribe and disconnect at random. At the end lists, details and all watchers have the true state.
 * TRUTH_SEED repeats a run, as far as time lets it.
 */
export async function checkRandomClients(
  broker: ObservedBroker,
  { count, seconds, maxPauseMs, mixesExpiry }: RandomClientsOptions,
): Promise<void> {
  const seed = Number(process.env.TRUTH_SEED ?? Date.now() % 1_000_000);
  console.log(`${count} random clients for ${seconds} s: TRUTH_SEED=${seed}`);
  const random = randomOf(seed);
  const { service, brokerId, port, accounts } = broker;
  const over = new AbortController();
  const fromStart = watchByWebSocket(service, brokerId, 'from the start, over WebSocket');
  const bySse = watchBySse(service, brokerId);
  await fromStart.mirror.until(() => fromStart.mirror.resumeAt !== null);
  await bySse.mirror.until(() => bySse.mirror.resumeAt !== null);
  const again = watchAgainAndAgain(service, brokerId, { other: fromStart.mirror, random, signal: over.signal });
  const crowd = startCrowd({ seed, port, count, seconds, maxPauseMs, accounts, mixesExpiry });
  await crowd.half;
  const fromHalf = watchByWebSocket(service, brokerId, 'from the middle on, over WebSocket');
  const { steps, truth } = await crowd.quiet;
  over.abort();
  const connected = truth.filter((client) => client.connected).length;
  console.log(`${steps} steps; ${connected} are connected, ${truth.length - connected} sessions wait`);
  for (const watcher of [fromStart, bySse, fromHalf, again]) await expectHeld(watcher, truth);
  console.log(
    `events: ${JSON.stringify(fromStart.mirror.kinds)}; again and again: ${JSON.stringify(again.mirror.kinds)}`,
  );
  expect(again.mirror.kinds.RESUMED).toBeGreaterThan(2);
  await expectLists(broker, truth);
  await expectDetails(broker, truth, random);
  await crowd.kill();
}
