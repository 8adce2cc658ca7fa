import type { MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import type { TopicRecorder } from '../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { RemoteTopicRecorder } from '../../../src/data-plane/topic-tree/recorder/remote-topic-recorder.ts';
import { TopicSources } from '../../../src/domains/topic-tree/control/topic-sources.ts';
import { ADMINISTRATOR, connect, startTestBroker } from '../../data-plane/broker/embedded.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { controlsOf } from './control/topic-world.ts';

/** A broker whose topics are recorded. */
export interface TopicTarget {
  readonly name: string;
  readonly query: TopicRecorder['query'];
  /** Whether messages are recorded with the QoS of their publish. If false, with QoS 0. */
  readonly reportsQos: boolean;
  connect(): Promise<MqttClient>;
  /** Publishes retained messages. Must be called before the first request. */
  keep(messages: readonly (readonly [topic: string, payload: Buffer])[]): Promise<void>;
  setTtl(seconds: number): Promise<void>;
}

/** The recorder of the gateway for a Mosquitto. */
export async function mosquittoTarget(fields: Partial<TopicSettings>): Promise<TopicTarget> {
  // Mosquitto 2.0.11 acknowledges more concurrent QoS 2 messages than its limit (default: 20), and drops them.
  const broker = await startMosquitto({ lines: ['max_inflight_messages 5000', 'max_queued_messages 0'] });
  const settings = { ...DEFAULT_TOPIC_SETTINGS, ...fields };
  const recorder = new RemoteTopicRecorder({
    local: { id: 'test', url: broker.url, timeoutMs: 30_000 },
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
    query: (type, request) => recorder.query(type, request),
    reportsQos: false,
    connect: () => broker.client(),
    keep: async (messages) => keepAll(await broker.client(), messages),
    setTtl: (ttlSeconds) => recorder.apply({ ...settings, ttlSeconds }),
  };
}

/** The embedded broker, which records its topics itself and receives the commands over MQTT. */
export async function embeddedTarget(fields: Partial<TopicSettings>): Promise<TopicTarget> {
  const broker = await startTestBroker();
  const controls = await controlsOf(`mqtt://127.0.0.1:${broker.mqttPort}`, [], ADMINISTRATOR);
  const sources = new TopicSources();
  onTestFinished(() => sources.close());
  const source = sources.of(controls);
  await source.updateSettings(fields);
  const client = () => connect(broker.mqttPort, ADMINISTRATOR);
  return {
    name: 'the embedded broker',
    query: (type, request) => source.query(type, request),
    reportsQos: true,
    connect: client,
    keep: async (messages) => keepAll(await client(), messages),
    setTtl: (ttlSeconds) => source.updateSettings({ ttlSeconds }),
  };
}

async function keepAll(client: MqttClient, messages: Parameters<TopicTarget['keep']>[0]): Promise<void> {
  for (const [topic, payload] of messages) void client.publishAsync(topic, payload, { retain: true });
  // The broker acknowledges it after it has read the previous messages.
  await client.publishAsync('last', '', { qos: 1 });
}
