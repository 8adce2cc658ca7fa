import { expect } from 'vitest';
import type { StartedService } from '../../../support/service-process.ts';

interface StreamOfNumbers<Service> {
  readonly service: Service;
  readonly brokerId: string;
  /** The stream, as the graph returns it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  read(fields: string): Promise<any>;
  replay(input: Readonly<Record<string, unknown>>): Promise<void>;
}

/** A service with a broker and a stream from `in` to `out` that selects numbers from messages. */
export async function startStreamOfNumbers<Service extends StartedService>(
  start: () => Promise<Service>,
  brokerUrl: string,
  input: Readonly<Record<string, unknown>> = {},
): Promise<StreamOfNumbers<Service>> {
  const service = await start();
  const brokerId = await service.addBroker(brokerUrl);
  const query = {
    select: [
      { source: '[n]', target: '[n]' },
      { source: '[value]', target: '[v]' },
    ],
    where: [{ operator: '>=', left: '[value]', right: 0 }],
  };
  const create = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { id } } }';
  const stream = { brokerId, name: 'numbers', sourceTopic: 'in', targetTopic: 'out', query };
  await service.graphql(create, { input: { ...stream, ...input } });
  const read: StreamOfNumbers<Service>['read'] = async (fields) => {
    const document = `query ($b: ID!) { broker(id: $b) { stream(name: "numbers") { ${fields} } } }`;
    return (await service.graphql(document, { b: brokerId })).broker.stream;
  };
  // Earlier messages would have no subscriber.
  await expect.poll(async () => (await read('state')).state).toBe('RUNNING');
  return {
    service,
    brokerId,
    read,
    replay: async (replay) => {
      const mutation = 'mutation ($input: ReplayStreamInput!) { replayStream(input: $input) { stream { id } } }';
      await service.graphql(mutation, { input: { brokerId, name: 'numbers', ...replay } });
    },
  };
}
