import { expect } from 'vitest';
import { startBrokersOn } from '../../support/hosts/brokers-on-host.ts';
import type { Host, Network } from '../../support/hosts/network.ts';
import { Numbers } from '../../support/hosts/numbers.ts';
import { startPostgres } from '../../support/hosts/postgres-server.ts';
import { type ServiceOnHost, startServiceOn } from '../../support/hosts/service-on-host.ts';
import { addStreams, hostOf, type StreamedBroker, statesOf, takeOversOf } from '../../support/hosts/stream-traffic.ts';
import { isLong } from '../../support/suite.ts';

interface WorldOptions {
  /** Of the process `holder`. Default: 0. */
  readonly clockAheadSeconds?: number;
  /** Default: a new server on the host `database`. */
  readonly databaseUrl?: string;
}

/** Two processes on two hosts, a database and brokers on others. Each process runs about half of the streams. */
interface World {
  readonly database: Host;
  readonly brokers: Host;
  readonly holder: ServiceOnHost;
  readonly other: ServiceOnHost;
  readonly streamed: readonly StreamedBroker[];
  readonly numbers: readonly Numbers[];
  /** Waits until each stream has passed a message that is sent after this call. Returns the most seconds it took. */
  passed(): Promise<number>;
  /** The same for the streams of one process, and messages that were sent after each changed to the other process. */
  takenOver(from: ServiceOnHost): Promise<number>;
  /** The same time for each of these streams. */
  takenOverEach(from: ServiceOnHost): Promise<number[]>;
  /** Both processes report that all streams run, and each of them executes a command for each stream. */
  converged(): Promise<void>;
  /** Both processes run streams, and none has changed its process for SETTLED_MS. */
  settled(): Promise<void>;
  /** No message was lost. Returns how many came twice. */
  complete(): Promise<number>;
  /** The pauses between the connections of a stream from the one and the other process, in seconds. */
  pauses(): number[];
}

/** So many that each process has some of them. */
const BROKERS = isLong ? 20 : 10;

/** Generous: this is how long a test waits, not what the product promises. */
export const PATIENCE_MS = 60_000;

/** Brokers move within a second after a process has joined, a few at a time. */
const SETTLED_MS = 4_000;

/** Most tests take 20 s on a machine with nothing else to do. */
export const TEST_TIMEOUT_MS = 300_000;

const RENAME = 'mutation ($input: UpdateStreamInput!) { updateStream(input: $input) { stream { textName } } }';

export async function startWorld(network: Network, options: WorldOptions = {}): Promise<World> {
  const { clockAheadSeconds = 0 } = options;
  const database = network.host('database');
  const brokersHost = network.host('brokers');
  const databaseUrl = options.databaseUrl ?? (await startPostgres(database)).url();
  const holder = await startServiceOn(network.host('one'), { databaseUrl, clockAheadSeconds });
  const other = await startServiceOn(network.host('two'), { databaseUrl });
  await holder.signIn();
  await other.signIn();
  await expect.poll(async () => (await holder.graphql('{ processes { isAlive } }')).processes).toHaveLength(2);
  const streamed = await addStreams(holder, await startBrokersOn(brokersHost, BROKERS));
  const running = streamed.map(() => 'RUNNING');
  const numbers = await Promise.all(
    streamed.map(({ broker: { url } }) => Numbers.start({ from: { url, topic: 'in/a' }, to: { url, topic: 'out' } })),
  );
  const passed = async () => {
    const times = await Promise.all(numbers.map((each) => each.pass(PATIENCE_MS)));
    return Math.max(...times) / 1_000;
  };
  const takenOverEach = (process: ServiceOnHost) => {
    const from = performance.now();
    const times = streamed.flatMap((each, index) => {
      return hostOf(each) === process.host.address ? [takenOver(each, index, from)] : [];
    });
    expect(times).not.toEqual([]);
    return Promise.all(times);
  };
  const takenOver = async (each: StreamedBroker, index: number, from: number) => {
    const count = takeOversOf(each).length;
    await expect.poll(() => takeOversOf(each).length, { timeout: PATIENCE_MS, interval: 20 }).toBe(count + 1);
    await numbers[index]?.pass(PATIENCE_MS);
    return (performance.now() - from) / 1_000;
  };
  const isRunning = async (service: ServiceOnHost) =>
    expect.poll(() => statesOf(service, streamed), { timeout: PATIENCE_MS, interval: 250 }).toEqual(running);
  await isRunning(other);
  await passed();
  return {
    database,
    brokers: brokersHost,
    holder,
    other,
    streamed,
    numbers,
    passed,
    takenOver: async (from) => Math.max(...(await takenOverEach(from))),
    takenOverEach,
    converged: async () => {
      for (const service of [holder, other]) {
        await isRunning(service);
        for (const { id } of streamed) {
          const input = { brokerId: id, name: 'numbers', textName: service.host.name };
          const { updateStream } = await service.graphql(RENAME, { input });
          expect(updateStream.stream.textName).toBe(service.host.name);
        }
      }
    },
    settled: async () => {
      const isSettled = () => {
        const changedAt = Math.max(...streamed.map(({ broker }) => broker.connections.at(-1)?.at ?? 0));
        return new Set(streamed.map(hostOf)).size === 2 && performance.now() - changedAt > SETTLED_MS;
      };
      await expect.poll(isSettled, { timeout: PATIENCE_MS }).toBe(true);
    },
    complete: async () => {
      await Promise.all(numbers.map((each) => each.complete(PATIENCE_MS)));
      return numbers.reduce((sum, { duplicates }) => sum + duplicates, 0);
    },
    pauses: () => streamed.flatMap((each) => takeOversOf(each)).map(({ pauseMs }) => pauseMs / 1_000),
  };
}

/** Prints figures below the name of the test. */
export const report = (text: string): void => console.info(`    ${text}`);

export const range = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)} s`;
