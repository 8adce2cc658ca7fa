import type { MqttClient } from 'mqtt';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import { settingFields } from '../../../../src/data-plane/topic-tree/control/topic-setting-issues.ts';
import type {
  RecordedTopic,
  RecorderStatus,
  TopicKind,
  TopicPage,
} from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { control } from '../embedded.ts';

/** What one command of topics is answered with; a refusal is an error. */
export async function topicsDone<T = unknown>(client: MqttClient, command: string, fields: object = {}): Promise<T> {
  const [answer] = await control(client, TOPIC_API, { commands: [{ command, ...fields }] });
  if (answer?.error !== undefined) throw new Error(`${command}: ${String(answer.error)}`);
  return answer?.data as T;
}

export const statusOf = (client: MqttClient) => topicsDone<RecorderStatus>(client, 'getTopicStatus');

export async function listed(client: MqttClient, kind: TopicKind = 'PUBLISHED'): Promise<readonly RecordedTopic[]> {
  const page = await topicsDone<TopicPage>(client, 'findTopics', { kind, first: 10_000, withPayloads: true });
  return page.topics;
}

export const namesOf = async (client: MqttClient, kind: TopicKind = 'PUBLISHED'): Promise<string[]> =>
  (await listed(client, kind)).map(({ topic }) => topic);

export const setRecording = (client: MqttClient, settings: Partial<TopicSettings>): Promise<unknown> =>
  topicsDone(client, 'setRecording', settingFields(settings));

/** Queries until the condition holds, because an expiry causes no event. Returns the time in epoch milliseconds. */
export async function untilListed(
  client: MqttClient,
  kind: TopicKind,
  isWanted: (topics: readonly string[]) => boolean,
): Promise<number> {
  for (;;) {
    if (isWanted(await namesOf(client, kind))) return Date.now();
  }
}
