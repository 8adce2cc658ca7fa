import { expect } from 'vitest';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import type {
  RecordedTopic,
  RecorderStatus,
  TopicPage,
} from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import type { Mosquitto } from '../../../support/mosquitto.ts';
import type { TestService } from '../../../support/service.ts';

export const brokersOf = ({ projectId }: TestService) => `/api/projects/${projectId}/brokers`;

export async function addBroker(service: TestService, { url }: Mosquitto): Promise<string> {
  const answer = await service.rest('POST', brokersOf(service), service.root, { name: 'line', url });
  expect(answer.body).toMatchObject({ id: expect.any(String) });
  return answer.body.id;
}

/** A command of the control API of topics. Errors: those of BrokerRuntimes.ask. */
export async function askTopics<T = unknown>(
  { services: { brokers, runtimes }, projectId }: TestService,
  brokerId: string,
  command: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<T> {
  const broker = brokers.visibleIn(projectId, null).find(({ id }) => id === brokerId);
  if (broker === undefined) throw new Error('There is no such broker');
  return runtimes.ask(broker, ({ controls }) => controls.call<T>(TOPIC_API, command, fields));
}

export const statusOf = (service: TestService, id: string) => askTopics<RecorderStatus>(service, id, 'getTopicStatus');

export const topicsOf = async (service: TestService, id: string): Promise<readonly RecordedTopic[]> =>
  (await askTopics<TopicPage>(service, id, 'findTopics', { kind: 'PUBLISHED', first: 100 })).topics;

export const namesOf = async (service: TestService, id: string) =>
  (await topicsOf(service, id)).map(({ topic }) => topic);

/** Connections that record topics, according to the log of the broker, which is published to topics. */
export async function recordersAt(broker: Mosquitto): Promise<{ readonly open: ReadonlySet<string> }> {
  const client = await broker.client();
  const open = new Set<string>();
  client.on('message', (_topic, line) => {
    const [, come] = / as (brokergraph-\S+-topics-\S+) /.exec(line.toString()) ?? [];
    const [, gone] =
      /Client (brokergraph-\S+-topics-\S+) (?:\[\S+\] )?(?:disconnected|closed)/.exec(line.toString()) ?? [];
    if (come !== undefined) open.add(come);
    if (gone !== undefined) open.delete(gone);
  });
  await client.subscribeAsync('$SYS/broker/log/N');
  return { open };
}

export async function keepPayloads(service: TestService, topicPayloads: boolean): Promise<void> {
  const { errors } = await service.graphql(
    'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }',
    { input: { projectId: service.projectId, storesTopicPayloads: topicPayloads } },
  );
  expect(errors).toBeUndefined();
}
