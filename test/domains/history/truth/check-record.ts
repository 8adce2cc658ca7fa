import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ServiceProcess } from '../../../support/service-process.ts';
import { Gate } from '../../clients/truth/gate.ts';
import { randomOf } from '../../clients/truth/random.ts';
import { differences, type RecordedEvent, type RecordedGap } from './differences.ts';
import { Life } from './life.ts';

interface RecordedBroker {
  readonly service: Pick<ServiceProcess, 'graphql'>;
  readonly brokerId: string;
  readonly port: number;
}

interface RecordOptions {
  readonly clients: number;
  readonly seconds: number;
  /** Happen one after the other, each after a random pause. */
  readonly faults: readonly (() => unknown)[];
}

const EVENTS = `query ($id: ID!, $after: String) { broker(id: $id) { clientEvents(
  first: 500, after: $after, filter: { kinds: [CONNECTED, DISCONNECTED, TAKEN_OVER] }) {
  since gaps { from to reason detail } nodes { kind at clientId reason } pageInfo { hasNextPage endCursor } } } }`;

async function recordOf({ service, brokerId }: RecordedBroker) {
  const events: RecordedEvent[] = [];
  for (let after: string | null = null; ; ) {
    const { broker } = await service.graphql(EVENTS, { id: brokerId, after });
    const { nodes, gaps, since, pageInfo } = broker.clientEvents;
    events.push(...nodes);
    if (!pageInfo.hasNextPage) return { events: events.reverse(), gaps: gaps as RecordedGap[], since };
    after = pageInfo.endCursor;
  }
}

/**
 * Clients of a broker live at random while faults happen. Afterwards what each of them did outside the stated gaps is
 * an event, and no event is false. TRUTH_SEED repeats a run, as far as time lets it.
 */
export async function checkRecord(broker: RecordedBroker, { clients, seconds, faults }: RecordOptions): Promise<void> {
  const seed = Number(process.env.TRUTH_SEED ?? Date.now() % 1_000_000);
  await expect.poll(async () => (await recordOf(broker)).since, { timeout: 60_000 }).not.toBeNull();
  const gate = new Gate(20);
  const lives = Array.from({ length: clients }, (_, number) => {
    const random = randomOf(seed * 100_003 + number);
    // Some connections are short, and some outlive several faults.
    const maxPauseMs = random.pick([400, 2_000, (seconds * 1_000) / 4, seconds * 2_000]);
    return new Life({ clientId: `device-${number}`, port: broker.port, random, maxPauseMs, gate });
  });
  const over = new AbortController();
  const lived = Promise.all(lives.map((life) => life.run(over.signal)));
  const random = randomOf(seed);
  const share = (seconds * 1_000) / (faults.length + 1);
  for (const fault of faults) {
    await delay(share / 2 + random.below(share));
    await fault();
  }
  await delay(share / 2);
  over.abort();
  await lived;
  const found = async () => {
    const { events, gaps } = await recordOf(broker);
    const ofClient = new Map<string | null, RecordedEvent[]>(lives.map(({ clientId }) => [clientId, []]));
    for (const event of events) ofClient.get(event.clientId)?.push(event);
    return lives.flatMap((life) => differences(life, ofClient.get(life.clientId) ?? [], gaps));
  };
  try {
    await expect.poll(found, { timeout: 30_000, interval: 1_000 }).toEqual([]);
  } finally {
    const { events, gaps } = await recordOf(broker);
    const done = lives.reduce((sum, { actions }) => sum + actions.length, 0);
    const notSeen = gaps.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0);
    console.log(
      `TRUTH_SEED=${seed}: ${done} actions, ${events.length} events, ${faults.length} faults, ${gaps.length} gaps of ${notSeen} ms: ${JSON.stringify(gaps)}`,
    );
  }
}
