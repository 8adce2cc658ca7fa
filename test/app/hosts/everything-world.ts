import { expect, onTestFailed } from 'vitest';
import { checkProjects } from '../../support/hosts/audited-projects.ts';
import { startBalancerOn } from '../../support/hosts/balancer-on-host.ts';
import { startBridge } from '../../support/hosts/bridged-brokers.ts';
import { startBrokersOn } from '../../support/hosts/brokers-on-host.ts';
import { embeddedBrokersOn, startEmbeddedDevices } from '../../support/hosts/embedded-brokers.ts';
import { LiveSubscriptions } from '../../support/hosts/live-subscriptions.ts';
import type { Host, Network } from '../../support/hosts/network.ts';
import { Numbers } from '../../support/hosts/numbers.ts';
import { type PostgresPair, startPair } from '../../support/hosts/postgres-pair.ts';
import { recordTopics, topicsOf } from '../../support/hosts/recorded-topics.ts';
import { type ServiceOnHost, startServiceOn } from '../../support/hosts/service-on-host.ts';
import { addStreams, hostOf, statesOf, takeOversOf } from '../../support/hosts/stream-traffic.ts';
import { Load } from '../../support/request-load.ts';
import { range, report } from './hosts-world.ts';

const NAMES = ['one', 'two', 'three'];
const BROKERS = Number(process.env.EVERYTHING_BROKERS ?? 60);
/** One of so many brokers stores the messages of its stream. */
const STORING = 3;
const BRIDGES = 10;
const RECORDERS = 5;
/** Between two messages of a stream or a bridge. */
const PERIOD_MS = 500;
/** Subscribed to the streams of the first LIVE_BROKERS, whose counters change all the time. */
const SUBSCRIPTIONS = 1_000;
const LIVE_BROKERS = 20;
const SOCKETS = 20;
const WRITERS = { clients: 2, pauseMs: 250 };
/** How long the test waits, not what the product promises. */
const PATIENCE_MS = 120_000;

const LIVE = `subscription ($id: ID!, $after: SafeInt) {
  live: streams(brokerId: $id, after: $after) { kind sequence partsLeft streams { counters { received } } }
}`;
const STORED = `SELECT s.broker, convert_from(payload, 'UTF8')::int AS number
  FROM messages.log_message m JOIN messages.log s ON s.number = m.log`;

interface EverythingOptions {
  /** Of the first process. Default: 0. */
  readonly clockAheadSeconds?: number;
  /** Of the primary; then its commits wait for the disk. */
  readonly disk?: Readonly<Record<string, string>>;
  /** Further settings of the processes. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Three processes behind HAProxy, PostgreSQL with a synchronous replica, and brokers, each on hosts of their own. All
 * brokers have streams, some also bridges and recorders, and each process has an embedded broker. Devices publish,
 * clients write and subscribe all the time.
 */
interface Everything {
  readonly load: Load;
  readonly subscriptions: LiveSubscriptions;
  readonly services: readonly ServiceOnHost[];
  readonly pair: PostgresPair;
  readonly databases: readonly Host[];
  readonly brokers: Host;
  /** The states of the streams that a process runs, as another process reports them. */
  statesOfStreams(of: ServiceOnHost, by: ServiceOnHost): Promise<string[]>;
  /** Each stream and bridge has passed a message that was sent after the call, and each subscription has an event. */
  recovered(): Promise<void>;
  /** No message and no change that was acknowledged is lost, and the audit is intact. Prints figures. */
  complete(): Promise<Completed>;
}

interface Completed {
  /** The pauses between the connections of a stream from two processes, in seconds. */
  readonly pauses: readonly number[];
  /** The longest time in which a subscription had no event, in seconds. */
  readonly silence: number;
}

export async function startEverything(network: Network, options: EverythingOptions = {}): Promise<Everything> {
  const { clockAheadSeconds = 0, disk } = options;
  const pair = await startPair(network, { isSynchronous: true, durable: disk !== undefined, env: disk ?? {} });
  const { databaseUrl } = pair;
  const services: ServiceOnHost[] = [];
  for (const [nth, name] of NAMES.entries()) {
    const clock = nth === 0 ? clockAheadSeconds : 0;
    const host = network.host(name);
    const env = { TRUST_PROXY: 'on', ...embeddedBrokersOn(host), ...options.env };
    services.push(await startServiceOn(host, { databaseUrl, clockAheadSeconds: clock, env }));
  }
  onTestFailed(() => {
    for (const { host, log } of services) console.info(`${host.name} logged:\n${log.slice(-4_000)}`);
  });
  const [first] = services as [ServiceOnHost];
  const token = await first.signIn();
  for (const service of services.slice(1)) await service.signIn();
  await expect
    .poll(async () => (await first.graphql('{ processes { isAlive } }')).processes)
    .toHaveLength(NAMES.length);

  const brokers = network.host('brokers');
  const isStored = (nth: number) => nth % STORING === 0;
  const streamed = await addStreams(first, await startBrokersOn(brokers, BROKERS), isStored);
  const numbers = await Promise.all(
    streamed.map(({ broker: { url } }) =>
      Numbers.start({ from: { url, topic: 'in/a' }, to: { url, topic: 'out' }, periodMs: PERIOD_MS }),
    ),
  );
  const bridged = await Promise.all(
    streamed.slice(0, BRIDGES).map((from, nth) => startBridge(first, from, streamed[nth + 1] ?? from, PERIOD_MS)),
  );
  const recorded = streamed.slice(-RECORDERS);
  for (const each of recorded) await recordTopics(first, each);

  const embedded = await startEmbeddedDevices(services);

  const url = await startBalancerOn(network.host('balancer'), services);
  const load = new Load(url, token, WRITERS);
  const live = Array.from({ length: SUBSCRIPTIONS }, (_, nth) => ({
    query: LIVE,
    variables: { id: streamed[nth % LIVE_BROKERS]?.id },
  }));
  const subscriptions = new LiveSubscriptions(url, token, live, SOCKETS);
  const allHeard = async () => {
    const from = performance.now();
    await expect.poll(() => subscriptions.silentSince(from), { timeout: PATIENCE_MS }).toBe(0);
    return (performance.now() - from) / 1_000;
  };
  const recoveries: { messages: number; subscriptions: number }[] = [];
  const recovered = async () => {
    const [heard, ...passed] = await Promise.all([
      allHeard(),
      ...[...numbers, ...bridged].map((each) => each.pass(PATIENCE_MS)),
    ]);
    recoveries.push({ messages: Math.max(...passed) / 1_000, subscriptions: heard });
  };
  await recovered();
  recoveries.length = 0;
  subscriptions.takeLongestSilence();

  return {
    load,
    subscriptions,
    services,
    pair,
    databases: [pair.primary.host, pair.replica.host],
    brokers,
    statesOfStreams: async (of, by) => {
      const own = streamed.filter((each) => hostOf(each) === of.host.address);
      expect(own).not.toEqual([]);
      return statesOf(by, own);
    },
    recovered,
    complete: async () => {
      const silence = subscriptions.takeLongestSilence() / 1_000;
      await load.stop();
      // Before the last message: topics are in the memory of the recorder, which may move yet.
      for (const each of recorded) {
        await expect.poll(() => topicsOf(first, each), { timeout: PATIENCE_MS }).toContain('in/a');
      }
      const pauses = streamed.flatMap((each) => takeOversOf(each)).map(({ pauseMs }) => pauseMs / 1_000);
      printFigures({ pauses, silence });
      await Promise.all([...numbers, ...bridged, ...embedded].map((each) => each.complete(PATIENCE_MS)));
      await checkProjects(first, load.created);
      await checkStored();
      return { pauses, silence };
    },
  };

  async function checkStored(): Promise<void> {
    const rows = (await pair.primary.sql(STORED)) as { broker: string; number: number }[];
    const stored = new Map(streamed.map(({ id }) => [id, new Set<number>()]));
    for (const { broker, number } of rows) stored.get(broker)?.add(number);
    for (const [nth, { id }] of streamed.entries()) {
      if (!isStored(nth)) continue;
      expect(numbers[nth]?.sent.filter((number) => stored.get(id)?.has(number) !== true)).toEqual([]);
    }
  }

  function printFigures({ pauses, silence }: Completed): void {
    const { resumed, snapshots, longestMs } = subscriptions.restarts;
    const most = (key: 'messages' | 'subscriptions') => Math.max(0, ...recoveries.map((one) => one[key])).toFixed(1);
    const twice = (all: readonly Numbers[]) => all.reduce((sum, { duplicates }) => sum + duplicates, 0);
    const sent = (all: readonly Numbers[]) => all.reduce((sum, one) => sum + one.sent.length, 0);
    report(
      `${recoveries.length} recoveries: messages within ${most('messages')} s, subscriptions within ${most('subscriptions')} s`,
    );
    report(
      `streams: ${sent(numbers)} messages, ${twice(numbers)} came twice; bridges: ${sent(bridged)}, ${twice(bridged)} came twice`,
    );
    report(`embedded brokers: ${sent(embedded)} messages, ${twice(embedded)} came twice`);
    report(`${load.created.length} changes acknowledged, ${load.failures.length} requests failed`);
    report(
      `subscriptions: ${resumed} RESUMED, ${snapshots} SNAPSHOT, within ${(longestMs / 1_000).toFixed(1)} s of the loss`,
    );
    report(`subscriptions that ended: ${JSON.stringify(Object.fromEntries(subscriptions.endings))}`);
    report(`longest silence of a subscription: ${silence.toFixed(1)} s`);
    report(
      `streams changed the process ${pauses.length} times${pauses.length > 0 ? `, paused for ${range(pauses)}` : ''}`,
    );
  }
}
