import { connectAsync } from 'mqtt';
import { expect, onTestFinished } from 'vitest';
import type { BrokerOnHost } from './brokers-on-host.ts';
import type { ServiceOnHost } from './service-on-host.ts';

export interface StreamedBroker {
  readonly id: string;
  readonly broker: BrokerOnHost;
}

const PROJECT = 'mutation { createProject(input: { name: "Hosts" }) { project { id } } }';
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name state } } }';
const STATE = 'query ($id: ID!) { broker(id: $id) { stream(name: "numbers") { state } } }';

const PERIOD_MS = 100;

/** Adds the brokers, each with the stream `numbers` from `in/+` to `out`, and waits until all of them run. */
export async function addStreams(service: ServiceOnHost, brokers: readonly BrokerOnHost[]): Promise<StreamedBroker[]> {
  const { createProject } = await service.graphql(PROJECT);
  const projectId = createProject.project.id;
  const streamed = await Promise.all(
    brokers.map(async (broker): Promise<StreamedBroker> => {
      const { addBroker } = await service.graphql(ADD, { input: { projectId, name: broker.url, url: broker.url } });
      const { id } = addBroker.broker;
      const stream = { brokerId: id, name: 'numbers', sourceTopic: 'in/+', targetTopic: 'out', targetQos: 1 };
      await service.graphql(CREATE, { input: stream });
      return { id, broker };
    }),
  );
  await expect.poll(() => statesOf(service, streamed)).toEqual(streamed.map(() => 'RUNNING'));
  return streamed;
}

/** The state of each stream as a process reports it, or the error. */
export const statesOf = (service: ServiceOnHost, streamed: readonly StreamedBroker[]): Promise<string[]> =>
  Promise.all(
    streamed.map(({ id }) =>
      service.graphql(STATE, { id }).then(
        ({ broker }) => broker.stream?.state ?? 'NONE',
        (error: Error) => error.message,
      ),
    ),
  );

/** Numbered messages with QoS 1 through the stream of one broker. */
export class Numbers {
  readonly #received = new Map<number, number>();
  readonly #sent = new Map<number, number>();
  duplicates = 0;

  static async start({ broker }: StreamedBroker): Promise<Numbers> {
    const numbers = new Numbers();
    const client = await connectAsync(broker.url, { reconnectPeriod: 0 });
    client.on('error', () => undefined);
    client.on('message', (_topic, payload) => numbers.#arrived(Number(payload)));
    await client.subscribeAsync('out', { qos: 1 });
    const timer = setInterval(
      () => numbers.#send((text) => void client.publishAsync('in/a', text, { qos: 1 })),
      PERIOD_MS,
    );
    numbers.#stopSending = () => clearInterval(timer);
    onTestFinished(async () => {
      clearInterval(timer);
      await client.endAsync(true);
    });
    return numbers;
  }

  #stopSending: () => void = () => undefined;

  /** Resolves when a message that was sent after this call has passed the stream. Returns how long this took. */
  async pass(timeoutMs: number): Promise<number> {
    const from = performance.now();
    const first = this.#sent.size;
    const arrivedAt = () => Math.min(...[...this.#received].filter(([number]) => number >= first).map(([, at]) => at));
    await expect.poll(() => Number.isFinite(arrivedAt()), { timeout: timeoutMs, interval: 20 }).toBe(true);
    return arrivedAt() - from;
  }

  /** Sends no more, and waits until every message has passed. */
  async complete(timeoutMs: number): Promise<void> {
    this.#stopSending();
    const missing = () => [...this.#sent.keys()].filter((number) => !this.#received.has(number));
    await expect.poll(missing, { timeout: timeoutMs }).toEqual([]);
  }

  #send(publish: (text: string) => void): void {
    const number = this.#sent.size;
    this.#sent.set(number, performance.now());
    publish(String(number));
  }

  #arrived(number: number): void {
    if (this.#received.has(number)) this.duplicates += 1;
    else this.#received.set(number, performance.now());
  }
}

interface TakeOver {
  /** The connections of the stream at the broker: how long none existed. Negative: two existed, for this time. */
  readonly pauseMs: number;
  readonly from: string;
  readonly to: string;
}

/** The address of the host that has, or had last, the reading connection of the stream. */
export const hostOf = ({ id, broker }: StreamedBroker): string | undefined =>
  broker.connections.findLast(({ clientId, kind }) => clientId === `brokergraph-${id}-streams` && kind === 'CONNECTED')
    ?.address;

/** The changes of the host that had the reading connection of the stream. */
export function takeOversOf({ id, broker }: StreamedBroker): TakeOver[] {
  const takeOvers: TakeOver[] = [];
  let current: { readonly address: string; endedAt: number | null } | null = null;
  const events = broker.connections.filter(({ clientId }) => clientId === `brokergraph-${id}-streams`);
  for (const [index, { kind, address, at }] of events.entries()) {
    if (kind !== 'CONNECTED') {
      if (current !== null) current.endedAt = kind === 'GONE' ? at : null;
      continue;
    }
    if (current !== null && current.address !== address) {
      const isReplaced = events[index - 1]?.kind === 'REPLACED';
      const pauseMs: number = isReplaced || current.endedAt === null ? -1 : at - current.endedAt;
      takeOvers.push({ pauseMs, from: current.address, to: address });
    }
    current = { address, endedAt: null };
  }
  return takeOvers;
}
