import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startBroker } from '../../../src/data-plane/broker/broker-assembly.ts';
import { type EmbeddedBrokerOptions, startEmbeddedBroker } from '../../../src/data-plane/broker/embedded-broker.ts';
import { DEFAULT_SETTINGS } from '../../../src/data-plane/broker/live-settings.ts';
import type { WorkerOptions } from '../../../src/data-plane/broker/worker-protocol.ts';
import { BUILD } from '../../../src/platform/build.ts';
import type { ListenerWanted, RunningBroker } from '../../../src/protocol/hosting/broker-engine.ts';
import { programUrl } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const WORKER_URL = programUrl('src/data-plane/broker/worker.ts');
export const ADMINISTRATOR = {
  username: 'admin',
  password: 'correct horse',
} as const;

const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;
const newFolder = () => mkdtempSync(join(tmpdir(), 'embedded-'));

export interface TestBroker extends RunningBroker {
  /** Of its first listener without TLS. */
  readonly mqttPort: number;
  readonly wsPort: number | null;
}

/** Number 1, on loopback and any free port, MQTT without TLS, unless said otherwise. */
export const listener = (fields: Partial<ListenerWanted> = {}): ListenerWanted => ({
  number: 1,
  protocol: 'MQTT',
  host: '127.0.0.1',
  port: 0,
  tls: false,
  requireCertificate: false,
  ...fields,
});

const start = async (options: EmbeddedBrokerOptions) => withPorts(await startEmbeddedBroker(options));

function withPorts(broker: RunningBroker): TestBroker {
  const portOf = (wanted: ListenerWanted['protocol']) =>
    broker.listeners.find(({ protocol, tls }) => protocol === wanted && !tls)?.port;
  const close = () => broker.close();
  return { listeners: broker.listeners, mqttPort: portOf('MQTT') ?? 0, wsPort: portOf('WEBSOCKET') ?? null, close };
}

const optionsFor = (folder: string): EmbeddedBrokerOptions => ({
  id: 'test',
  folder,
  listeners: [listener(), listener({ number: 2, protocol: 'WEBSOCKET' })],
  administrator: ADMINISTRATOR,
  workerUrl: WORKER_URL,
  log: { info: () => {}, warn: () => {}, error: () => {} },
});

export async function startTestBroker(options: Partial<EmbeddedBrokerOptions> = {}): Promise<TestBroker> {
  const broker = await start({ ...optionsFor(options.folder ?? temporaryFolder()), ...options });
  onTestFinished(() => broker.close());
  return broker;
}

/**
 * The same in this thread, which starts in a tenth of the time. Not for tests of what depends on the thread, such as
 * its failure or its memory.
 */
export async function startBrokerHere(
  options: Partial<WorkerOptions> = {},
  settings = () => DEFAULT_SETTINGS,
): Promise<TestBroker> {
  const { id, folder, listeners, administrator } = optionsFor(options.folder ?? temporaryFolder());
  const sizes = { streamStorageBytes: 1_024 ** 3, topicTreeBytes: 1_024 ** 2 };
  const own = { version: BUILD.version, sysIntervalMs: 10_000, ...sizes };
  const broker = await startBroker(
    { id, folder, listeners, administrator, settings: settings(), ...own, ...options },
    {
      onProblem: () => {},
      onRefused: () => {},
      onFault: ({ error }) => void Promise.reject(error),
      onQuarantined: () => {},
      onBroken: (error) => void Promise.reject(error),
      onDiskFault: () => {},
      settings,
    },
  );
  onTestFinished(() => broker.close());
  return withPorts(broker);
}

/** One broker for all tests of the file that calls this at its top level. Tests must not leave data for others. */
export function useTestBroker(options: Partial<EmbeddedBrokerOptions> = {}): () => TestBroker {
  const folder = newFolder();
  let broker: TestBroker | undefined;
  beforeAll(async () => {
    broker = await start({ ...optionsFor(folder), ...options });
  });
  afterAll(async () => {
    await broker?.close();
    rmSync(folder, REMOVAL);
  });
  return () => {
    if (!broker) throw new Error('The broker runs only during the tests of the file');
    return broker;
  };
}

export async function connect(
  port: number | null,
  options: IClientOptions & { ws?: boolean } = {},
): Promise<MqttClient> {
  const { ws = false, ...rest } = options;
  const url = `${ws ? 'ws' : 'mqtt'}://127.0.0.1:${port}${ws ? '/mqtt' : ''}`;
  const client = await mqtt.connectAsync(url, {
    ...ADMINISTRATOR,
    protocolVersion: 4,
    reconnectPeriod: 0,
    ...rest,
  });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  // After a kill the socket fails; tests look at what was acknowledged.
  client.on('error', () => {});
  return client;
}

/** Collects what arrives; `until` resolves once the items satisfy the condition. */
function collected<Item>(client: MqttClient, itemOf: (topic: string, text: string, packet: IPublishPacket) => Item) {
  const items: Item[] = [];
  let check = () => {};
  client.on('message', (topic, payload, packet) => {
    items.push(itemOf(topic, payload.toString(), packet));
    check();
  });
  const until = (condition: (seen: Item[]) => boolean) =>
    new Promise<Item[]>((resolve) => {
      check = () => {
        if (condition(items)) resolve(items);
      };
      check();
    });
  return { items, until };
}

export function collect(client: MqttClient) {
  const { items, until } = collected(client, (topic, text, { qos, retain }) => ({ topic, text, qos, retain }));
  return { messages: items, until };
}

/** Collects the packets that arrive, with their properties. */
export function packetsOf(client: MqttClient) {
  const { items, until } = collected(client, (topic, text, { qos, retain, properties }) => {
    return { topic, text, qos, retain, properties };
  });
  return { packets: items, until };
}

/** Sends one request to a control API and gives its responses. */
export async function control(client: MqttClient, api: string, request: unknown): Promise<Record<string, unknown>[]> {
  const topic = `$CONTROL/${api}/v1/response`;
  await client.subscribeAsync(topic);
  const answer = new Promise<Record<string, unknown>[]>((resolve) => {
    const listen = (to: string, payload: Buffer) => {
      if (to !== topic) return;
      const body = JSON.parse(payload.toString());
      if (!Array.isArray(body.responses) || body.type === 'event') return;
      client.off('message', listen);
      resolve(body.responses);
    };
    client.on('message', listen);
  });
  const isRaw = typeof request === 'string' || Buffer.isBuffer(request);
  await client.publishAsync(`$CONTROL/${api}/v1`, isRaw ? request : JSON.stringify(request));
  return answer;
}
