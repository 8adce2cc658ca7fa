import { onTestFinished } from 'vitest';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import { TopicTreePlugin } from '../../../../src/data-plane/topic-tree/control/topic-tree-plugin.ts';
import type {
  RecorderStatus,
  TopicRecorder,
  TopicRequests,
  TopicResponses,
} from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { TopicRecording } from '../../../../src/data-plane/topic-tree/recorder/topic-recording.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import type { ControlPlugin, PluginFactory } from '../../../../src/protocol/control/plugin.ts';
import { serveControlRequest } from '../../../../src/protocol/control/serve.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connectedLink } from '../../../support/link.ts';

/** A recording to which a test adds messages. */
class FedRecorder implements TopicRecorder {
  readonly recording = new TopicRecording({ settings: DEFAULT_TOPIC_SETTINGS, maxBytes: 100 * 1_048_576 });
  /** The applied settings, oldest first. */
  readonly applied: TopicSettings[] = [];
  isAsked = false;
  seesSubscriptions = true;

  async apply(settings: TopicSettings): Promise<void> {
    this.applied.push(settings);
    await this.recording.apply(settings);
  }

  async query<Type extends keyof TopicRequests>(
    type: Type,
    request: TopicRequests[Type],
  ): Promise<TopicResponses[Type]> {
    this.isAsked = true;
    if (type === 'status') return this.#status() as TopicResponses[Type];
    return this.recording.query(type, request as never) as Promise<TopicResponses[Type]>;
  }

  async close(): Promise<void> {
    this.recording.close();
  }

  publish(topic: string, payload: string | Buffer = 'x'): void {
    this.recording.record(topic, Buffer.from(payload), 0, false);
  }

  #status(): RecorderStatus {
    const { subscribed, ...status } = this.recording.status;
    const rest = { state: 'RECORDING', reason: null, asOf: 0, deniedFilters: [], tellsRetain: true } as const;
    return this.seesSubscriptions
      ? { ...status, ...rest, subscribed, subscribedReason: null }
      : { ...status, ...rest, subscribed: null, subscribedReason: 'log_type subscribe is missing' };
  }
}

/** Settings that are stored in memory, asynchronously. */
class MemorySettings implements TopicSettingsStore {
  kept = DEFAULT_TOPIC_SETTINGS;
  /** Thrown by the next `put`. */
  failure: Error | null = null;
  puts = 0;
  readonly #listeners = new Set<() => void>();

  get(): TopicSettings {
    return this.kept;
  }

  async put(settings: TopicSettings): Promise<void> {
    await new Promise(setImmediate);
    const { failure } = this;
    this.failure = null;
    if (failure !== null) throw failure;
    this.puts += 1;
    this.kept = settings;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Like a change by another process. */
  changeElsewhere(settings: Partial<TopicSettings>): void {
    this.kept = { ...this.kept, ...settings };
    for (const listener of this.#listeners) listener();
  }
}

export function makePlugin() {
  const recorder = new FedRecorder();
  const settings = new MemorySettings();
  const faults: unknown[] = [];
  const plugin = new TopicTreePlugin({ settings, recorder, onFault: (error) => faults.push(error) });
  onTestFinished(async () => {
    await plugin.close();
    await recorder.close();
  });
  return { plugin, recorder, settings, faults };
}

/** The gateway plugin for a broker that does not serve the API. */
export async function startGatewayPlugin() {
  const parts = makePlugin();
  const broker = await startScriptedBroker(() => [JSON.stringify({ error: 'endpoint not available' })]);
  const factory: PluginFactory = { api: TOPIC_API, create: async () => parts.plugin };
  return { ...parts, controls: await controlsOf(broker.url, [factory]) };
}

/** A broker that has the plugin itself and receives its commands over MQTT. */
export async function startServing() {
  const parts = makePlugin();
  const bugs: unknown[] = [];
  let tail: Promise<unknown> = Promise.resolve();
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic === `$CONTROL/${TOPIC_API}/v1`) tail = tail.then(() => answer(parts.plugin, topic, payload));
    return [];
  });
  const answer = async (plugin: ControlPlugin, topic: string, payload: string) => {
    const text = await serveControlRequest(Buffer.from(payload), plugin, (error) => bugs.push(error));
    await broker.publish(`${topic}/response`, text);
  };
  return { ...parts, broker, bugs, controls: await controlsOf(broker.url) };
}

export interface Asked {
  readonly command: string;
  readonly correlationData: string;
  readonly count: number;
  readonly offset: number;
  readonly [field: string]: unknown;
}

/** A broker of another vendor. `dataOf` returns its responses: an Error is a refusal, `null` is no response. */
export async function startScripted(dataOf: (asked: Asked) => unknown, options: { timeoutMs?: number } = {}) {
  const asked: Asked[] = [];
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== `$CONTROL/${TOPIC_API}/v1`) return [];
    const { commands } = JSON.parse(payload) as { commands: Asked[] };
    const responses = commands.flatMap((one) => {
      asked.push(one);
      const data = dataOf(one);
      const head = { command: one.command, correlationData: one.correlationData };
      if (data === null) return [];
      return data instanceof Error
        ? { ...head, error: data.message }
        : { ...head, ...(data === undefined ? {} : { data }) };
    });
    return [JSON.stringify({ responses })];
  });
  const commands = () => asked.map(({ correlationData: _id, ...rest }) => rest);
  return { broker, asked, commands, controls: await controlsOf(broker.url, [], options) };
}

/** The commands of commercial brokers, over settings of the test. `lists` returns the lists. */
export function commercial(lists: (asked: Asked) => unknown) {
  const state = {
    ttl: 60,
    filters: [] as string[],
    limits: { publishLimit: 50_000, subscribeLimit: 50_000, payloadLimit: 1_000 },
  };
  const dataOf = (asked: Asked): unknown => {
    const { command, filter } = asked as Asked & { readonly filter: string };
    switch (command) {
      case 'getTtl':
        return { ttl: state.ttl };
      case 'setTtl':
        state.ttl = asked.ttl as number;
        return undefined;
      case 'listFilters':
        return { filters: state.filters };
      case 'addFilter':
        state.filters = [...state.filters, filter];
        return undefined;
      case 'removeFilter':
        if (!state.filters.includes(filter)) return new Error('Filter not found');
        state.filters = state.filters.filter((one) => one !== filter);
        return undefined;
      case 'clearFilters':
        state.filters = [];
        return undefined;
      case 'getLimits':
        return state.limits;
      case 'setLimits':
        state.limits = { publishLimit: 50_000, subscribeLimit: 50_000, payloadLimit: 1_000, ...pick(asked) };
        return undefined;
      case 'listTopics':
      case 'topicCount':
        return lists(asked);
      default:
        return new Error('Unknown command');
    }
  };
  return { state, dataOf };
}

const pick = ({ command: _c, correlationData: _d, ...rest }: Asked) => rest;

export async function controlsOf(
  url: string,
  plugins: readonly PluginFactory[] = [],
  { timeoutMs = 30_000, ...account }: { timeoutMs?: number; username?: string; password?: string } = {},
) {
  const link = await connectedLink({ url, ...account });
  const controls = new BrokerControls(link, { timeoutMs, silenceMs: timeoutMs, plugins });
  onTestFinished(() => controls.close());
  return Object.assign(controls, { link });
}
