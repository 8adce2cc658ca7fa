import { onTestFinished } from 'vitest';
import type { RecorderStatus, TopicKind } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
} from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import {
  RemoteTopicRecorder,
  type RemoteTopicRecorderOptions,
} from '../../../../src/data-plane/topic-tree/recorder/remote-topic-recorder.ts';

export const PREFIX = 'brokergraph-test-';

interface TestRecorderOptions
  extends Partial<Pick<RemoteTopicRecorderOptions, 'durations' | 'maxBytes' | 'onStopped'>> {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly settings?: Partial<TopicSettings>;
}

/** A recorder of the broker at `url` with settings applied, closed when the test ends. A fault fails the test. */
export async function recorderOf({
  url,
  username,
  password,
  settings,
  ...options
}: TestRecorderOptions): Promise<RemoteTopicRecorder> {
  const credentials = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  const faults: unknown[] = [];
  const recorder = new RemoteTopicRecorder({
    local: { id: 'test', url, timeoutMs: 30_000, ...credentials },
    clientId: `${PREFIX}topics`,
    maxBytes: 64 * 1_048_576,
    onStopped: () => undefined,
    onFault: (error) => faults.push(error),
    ...options,
  });
  onTestFinished(async () => {
    await recorder.close();
    if (faults.length > 0) throw faults[0];
  });
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ...settings });
  return recorder;
}

/** Messages by topic, as they are listed. */
export async function recorded(
  recorder: RemoteTopicRecorder,
  kind: TopicKind = 'PUBLISHED',
): Promise<Record<string, number>> {
  const { topics } = await recorder.query('find', { kind, first: 10_000 });
  return Object.fromEntries(topics.map(({ topic, messages }) => [topic, messages]));
}

/** Asks, as often as the recorder answers, until it is so: of what a broker sends there is no other sign. */
export async function until<Answer>(ask: () => Promise<Answer>, isSo: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const statusOf = (recorder: RemoteTopicRecorder): Promise<RecorderStatus> => recorder.query('status', {});
