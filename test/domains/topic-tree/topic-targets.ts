import type { MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import { TopicAskers } from '../../../src/domains/topic-tree/control/topic-askers.ts';
import type { TopicRecorder } from '../../../src/domains/topic-tree/model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../../../src/domains/topic-tree/model/topic-settings.ts';
import { RemoteTopicRecorder } from '../../../src/domains/topic-tree/recorder/remote-topic-recorder.ts';
import { ADMINISTRATOR, connect, startTestBroker } from '../../engines/embedded/embedded.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { controlsOf } from './control/topic-world.ts';

/** A broker whose topics are recorded. */
export interface TopicTarget {
  readonly name: string;
  readonly ask: TopicRecorder['ask'];
  /** Messages are seen with the QoS with which they were published; else with 0. */
  readonly tellsQos: boolean;
  connect(): Promise<MqttClient>;
  /** Before anything is asked: messages that the broker keeps. */
  keep(messages: readonly (readonly [topic: string, payload: Buffer])[]): Promise<void>;
  setTtl(seconds: number): Promise<void>;
}

/** The recorder of the gateway beside a Mosquitto. */
export async function mosquittoTarget(fields: Partial<TopicSettings>): Promise<TopicTarget> {
  // Of more messages of QoS 2 at once than it takes, 20 by default, it (2.0.11) acknowledges all and passes none of the others on.
  const broker = await startMosquitto({ lines: ['max_inflight_messages 5000', 'max_queued_messages 0'] });
  const settings = { ...DEFAULT_TOPIC_SETTINGS, ...fields };
  const recorder = new RemoteTopicRecorder({
    local: { id: 'test', url: broker.url, timeoutMs: 10_000 },
    clientId: 'brokergraph-test-topics',
    maxBytes: 2 ** 29,
    onStopped: () => undefined,
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => recorder.close());
  await recorder.apply(settings);
  return {
    name: 'Mosquitto',
    ask: (type, question) => recorder.ask(type, question),
    tellsQos: false,
    connect: () => broker.client(),
    keep: async (messages) => keepAll(await broker.client(), messages),
    setTtl: (ttlSeconds) => recorder.apply({ ...settings, ttlSeconds }),
  };
}

/** The embedded broker, which records by itself: asked over MQTT, as the service asks it. */
export async function embeddedTarget(fields: Partial<TopicSettings>): Promise<TopicTarget> {
  const broker = await startTestBroker();
  const controls = await controlsOf(`mqtt://127.0.0.1:${broker.mqttPort}`, [], ADMINISTRATOR);
  const askers = new TopicAskers();
  onTestFinished(() => askers.close());
  const asker = askers.of(controls);
  await asker.updateSettings(fields);
  const client = () => connect(broker.mqttPort, ADMINISTRATOR);
  return {
    name: 'the embedded broker',
    ask: (type, question) => asker.ask(type, question),
    tellsQos: true,
    connect: client,
    keep: async (messages) => keepAll(await client(), messages),
    setTtl: (ttlSeconds) => asker.updateSettings({ ttlSeconds }),
  };
}

async function keepAll(client: MqttClient, messages: Parameters<TopicTarget['keep']>[0]): Promise<void> {
  for (const [topic, payload] of messages) void client.publishAsync(topic, payload, { retain: true });
  // It is acknowledged when those before it were read.
  await client.publishAsync('last', '', { qos: 1 });
}
