import { expect } from 'vitest';
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

const ADDED_AT_ONCE = 5;

/**
 * Adds the brokers, each with the stream `numbers` from `in/+` to `out`, and waits until all of them run. `isStored`:
 * whether the stream of a broker stores its messages; default: none does.
 */
export async function addStreams(
  service: ServiceOnHost,
  brokers: readonly BrokerOnHost[],
  isStored: (nth: number) => boolean = () => false,
): Promise<StreamedBroker[]> {
  const { createProject } = await service.graphql(PROJECT);
  const projectId = createProject.project.id;
  const streamed: StreamedBroker[] = [];
  for (let nth = 0; nth < brokers.length; nth += ADDED_AT_ONCE) {
    const some = brokers.slice(nth, nth + ADDED_AT_ONCE);
    streamed.push(...(await Promise.all(some.map((broker, index) => add(broker, isStored(nth + index))))));
  }
  await expect.poll(() => statesOf(service, streamed), { interval: 250 }).toEqual(streamed.map(() => 'RUNNING'));
  return streamed;

  async function add(broker: BrokerOnHost, persist: boolean): Promise<StreamedBroker> {
    const { addBroker } = await service.graphql(ADD, { input: { projectId, name: broker.url, url: broker.url } });
    const { id } = addBroker.broker;
    const stream = { brokerId: id, name: 'numbers', sourceTopic: 'in/+', targetTopic: 'out', targetQos: 1 };
    await service.graphql(CREATE, { input: { ...stream, persist } });
    return { id, broker };
  }
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
