import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BridgeApi, type BridgeKind, connectionsOf } from '../../data-plane/bridges/model/bridge-kind.ts';
import type { BridgeConnectionStatus } from '../../data-plane/bridges/model/bridge-status.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { PolledContent, PolledEvent, PollSource } from '../../gateway/live/polled-feed.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { ConcurrencyLimit, QueueFull } from '../../platform/scheduling/concurrency-limit.ts';
import { SerialQueues } from '../../platform/scheduling/serial-queues.ts';
import { runSync } from '../../platform/scheduling/sliced-task.ts';
import { isFields } from '../../protocol/control/fields.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import { BrokerFeeds, type BrokerFeedsOptions } from '../brokers/broker-feeds.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import { TotalsOfBrokers } from '../brokers/broker-totals.ts';
import { BRIDGE_METRICS, type BridgeTotals } from './bridge-metrics.ts';
import { type BridgeView, remoteClientIdOf, sysBridgeKey, sysStatus } from './bridge-view.ts';
import {
  bridgeApi,
  configSizeIssues,
  getBridgeConfig,
  getBridgeSchema,
  getBridgeStatus,
  onBridgeStatus,
  updateBridgeConfig,
} from './control/bridge-control.ts';
import { findBridgeIds, servesBridge } from './control/bridge-finder.ts';
import { BY_ROOT_ADMIN } from './control/bridge-plugin.ts';
import { masked } from './control/config-secrets.ts';
import { readForeignConfig, refuseControlTopics, writeForeignConfig } from './control/foreign-config.ts';
import { SecretPlace } from './control/secret-places.ts';
import { SysBridges } from './sys-bridges.ts';

export interface BridgeServiceOptions extends BrokerFeedsOptions {
  readonly kinds: readonly BridgeKind[];
  /** NOT_SUPPORTED_BY_BROKER if a broker cannot have bridges, because its entry represents several brokers. */
  readonly requireSupport: (broker: BrokerRecord) => void;
}

interface BridgeStatus {
  readonly status: unknown;
}

export type BridgeEvent = PolledEvent<BridgeStatus>;

const STATUS_CONTENT: PolledContent<BridgeStatus> = {
  initial: { status: null },
  history: 300,
  maxWeight: 4_000_000,
  weigh: ({ status }) => JSON.stringify(status).length,
};

const MAX_CONFIG_READS = 10_000;

export interface BridgeWriter {
  readonly mayControl: boolean;
  readonly isRootAdmin: boolean;
}

export interface BridgeWrite {
  readonly broker: BrokerRecord;
  readonly readBridge: () => Promise<BridgeView | null>;
}

/**
 * The bridges of brokers: those of the gateway, those that commercial brokers have as plugins, and those of Mosquitto's
 * configuration file, of which only the connection state is known. Secrets of configurations are never returned.
 * Errors of all requests to a broker: NOT_FOUND; those of a broker that is not connected. Bridges of the gateway can
 * also be read and configured while the broker is not connected.
 */
export class BridgeService {
  readonly #options: BridgeServiceOptions;
  readonly #feeds: BrokerFeeds<BridgeStatus>;
  readonly #sys = new Map<string, SysBridges>();
  readonly #totals = new TotalsOfBrokers(BRIDGE_METRICS);
  /** One write to a bridge at a time, so that each write reads the previous result. */
  readonly #writes = new SerialQueues();
  readonly #configReads = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: MAX_CONFIG_READS });
  readonly #stop: () => void;

  constructor(options: BridgeServiceOptions) {
    this.#options = options;
    options.runtimes.onRuntime((runtime, change) => {
      this.#sys.get(runtime.id)?.close();
      this.#sys.delete(runtime.id);
      if (change === 'OPENED') this.#sys.set(runtime.id, new SysBridges(runtime.sys, runtime.link));
    });
    // Created after the listener above, so that it reads the bridges of the same runtime.
    this.#feeds = new BrokerFeeds(options, STATUS_CONTENT, (runtime, key) => this.#source(runtime, key));
    this.#stop = options.brokerCache.onRemove(({ id }) => this.#totals.remove(id));
  }

  /**
   * Bridges of the gateway first, then plugins of the broker, then connections of Mosquitto. If the broker was not
   * connected since the start, only configured bridges of the gateway.
   */
  async list(broker: BrokerRecord): Promise<BridgeView[]> {
    return this.#ask(broker, async ({ controls }) => {
      const answers = await Promise.allSettled([
        ...this.#options.kinds.map((kind) => this.#ofKind(broker, controls, kind)),
        this.#pluginsOf(broker, controls),
      ]);
      const bridges = answers.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []));
      const failed = answers.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
      if (failed !== undefined && !(isAway(failed.reason) && bridges.length > 0)) throw failed.reason;
      return [...bridges, ...this.ofConfigurationFile(broker)];
    });
  }

  async find(broker: BrokerRecord, key: string): Promise<BridgeView | null> {
    if (remoteClientIdOf(key) !== null) {
      return this.#ask(
        broker,
        async () => this.ofConfigurationFile(broker).find((bridge) => bridge.key === key) ?? null,
      );
    }
    const kind = this.#options.kinds.find(({ id }) => id === key);
    return this.#ask(broker, async ({ controls }) => {
      if (kind !== undefined) return this.#ofKind(broker, controls, kind);
      // Each query for an unknown API adds a subscription, so only APIs that the broker reports are queried.
      return (await findBridgeIds(controls)).includes(key) ? ofBroker(broker, controls, key) : null;
    });
  }

  /** As `find`. Errors: NOT_FOUND. */
  async found(broker: BrokerRecord, key: string): Promise<BridgeView> {
    const bridge = await this.find(broker, key);
    if (bridge === null) throw notFound('bridge', key.slice(0, 200));
    return bridge;
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER for a bridge of Mosquitto's configuration file. */
  async schema(bridge: BridgeView): Promise<unknown> {
    const api = configurable(bridge);
    return this.#ask(bridge.broker, ({ controls }) => getBridgeSchema(controls, api));
  }

  /**
   * The configuration without its secrets. Configurations of the gateway's bridges are read one after the other, each
   * in an iteration of the event loop. `onTurn` may throw before the read. Errors: as `schema`; RATE_LIMITED if too
   * many reads wait.
   */
  async config(bridge: BridgeView, onTurn: () => void = () => undefined): Promise<unknown> {
    const api = configurable(bridge);
    if (bridge.provider === 'BROKER') {
      onTurn();
      return this.#ask(bridge.broker, ({ controls }) => readForeignConfig(controls, api));
    }
    const read = async () => {
      onTurn();
      const config = await this.#ask(bridge.broker, ({ controls }) => getBridgeConfig(controls, api));
      await nextTurn();
      return config;
    };
    return this.#configReads.run(read, { key: bridge.broker.id }).catch((error) => {
      if (!(error instanceof QueueFull)) throw error;
      const info = { retryAfterSeconds: 1 };
      throw new ServiceError('RATE_LIMITED', 'Too many configurations are being read', { info });
    });
  }

  async status({ key, broker }: BridgeView): Promise<unknown> {
    const { status } = await this.#ask(broker, (runtime) => this.#source(runtime, key).read());
    return status;
  }

  /**
   * Replaces the configuration; secrets given as `***` remain. Errors: INVALID with issues; NOT_SUPPORTED_BY_BROKER as
   * `schema`; NOT_ALLOWED if a bridge of the broker itself contains topics of `$CONTROL/` and `by.mayControl` is false.
   */
  async update(broker: BrokerRecord, key: string, config: unknown, by: BridgeWriter): Promise<BridgeWrite> {
    if (!isFields(config)) throw invalid([{ path: '/', reason: 'must be a JSON object' }]);
    const issues = configSizeIssues(config);
    if (issues.length > 0) throw invalid(issues);
    const bridge = await this.found(broker, key);
    const api = configurable(bridge);
    if (bridge.provider === 'BROKER' && !by.mayControl) refuseControlTopics(config);
    await this.#writes.run(`${broker.id}/${key}`, () =>
      this.#ask(broker, ({ controls }) =>
        bridge.provider === 'BROKER'
          ? writeForeignConfig(controls, api, config)
          : updateBridgeConfig(controls, api, config, { [BY_ROOT_ADMIN]: by.isRootAdmin }),
      ),
    );
    return { broker, readBridge: () => this.find(broker, key) };
  }

  async watch(broker: BrokerRecord, key: string, options: SubscriberOptions): Promise<LiveSource<BridgeEvent>> {
    await this.found(broker, key);
    return this.#ask(broker, (runtime) => this.#feeds.watch(runtime, key, options));
  }

  totals(brokers: readonly BrokerRecord[]): Promise<BridgeTotals> {
    return this.#totals.read(brokers, async (broker) => {
      const connections = await this.hostedConnections(broker);
      return connections.map(({ bridgeId, status }) => {
        const { connectionName, state } = status;
        return { key: `${bridgeId}/${connectionName}`, state, counts: status, sizes: status };
      });
    });
  }

  /** The connections of bridges that this service runs. */
  hostedConnections(broker: BrokerRecord): Promise<{ bridgeId: string; status: BridgeConnectionStatus }[]> {
    return this.#ask(broker, async ({ controls }) => {
      const found: { bridgeId: string; status: BridgeConnectionStatus }[] = [];
      for (const { id: bridgeId, api } of this.#options.kinds) {
        if ((await controls.capability(api)).provider !== 'GATEWAY') continue;
        const connections = (await getBridgeStatus(controls, api)) as readonly BridgeConnectionStatus[];
        found.push(...connections.map((status) => ({ bridgeId, status })));
      }
      return found;
    });
  }

  /** Connections of Mosquitto, as far as the broker has reported them. */
  ofConfigurationFile(broker: BrokerRecord): BridgeView[] {
    const bridges = this.#sys.get(broker.id);
    if (bridges === undefined) return [];
    return bridges.all().map((sys) => ({
      key: sysBridgeKey(sys),
      name: sys.name ?? sys.remoteClientId,
      broker,
      provider: 'BROKER',
      isActive: !bridges.isLeft(sys),
      api: null,
      sys,
    }));
  }

  close(): void {
    this.#stop();
    this.#feeds.close();
    for (const sys of this.#sys.values()) sys.close();
    this.#sys.clear();
  }

  async #ofKind(broker: BrokerRecord, controls: ControlCaller, kind: BridgeKind): Promise<BridgeView | null> {
    const { id, api, name } = kind;
    const { provider } = await controls.capability(api);
    if (provider === 'NONE') return null;
    const isActive = provider === 'BROKER' || connectionsOf(await getBridgeConfig(controls, api)).length > 0;
    return { key: id, name, broker, provider, isActive, api, sys: null };
  }

  async #pluginsOf(broker: BrokerRecord, controls: ControlCaller): Promise<BridgeView[]> {
    const known = new Set(this.#options.kinds.map(({ id }) => id));
    const own = (await findBridgeIds(controls)).filter((id) => !known.has(id));
    return Promise.all(own.map((id) => ofBroker(broker, controls, id)));
  }

  #source({ id: brokerId, controls }: BrokerRuntime, key: string): PollSource<BridgeStatus> {
    const remoteClientId = remoteClientIdOf(key);
    const api = bridgeApi(key);
    if (remoteClientId === null && api !== null) {
      return {
        read: async () => open(await getBridgeStatus(controls, api)),
        onEvent: (listener) => onBridgeStatus(controls, api, (status) => listener(open(status))),
      };
    }
    const current = () => {
      const bridges = this.#sys.get(brokerId);
      const sys = bridges?.get(remoteClientId ?? '') ?? null;
      return { status: bridges === undefined || sys === null ? [] : sysStatus(sys, bridges.isLeft(sys)) };
    };
    return {
      read: async () => current(),
      onEvent: (listener) =>
        this.#sys.get(brokerId)?.onChange((changed) => {
          if (changed === remoteClientId) listener(current());
        }) ?? (() => undefined),
    };
  }

  /** Bridges of the gateway can be queried while the broker is not connected. */
  async #ask<T>(broker: BrokerRecord, question: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    const { runtimes, requireSupport } = this.#options;
    requireSupport(broker);
    if (runtimes.status(broker.id).state !== 'UNREACHABLE') return runtimes.ask(broker, question);
    return question(runtimes.get(broker));
  }
}

async function ofBroker(broker: BrokerRecord, controls: ControlCaller, key: string): Promise<BridgeView> {
  const isActive = await servesBridge(controls, key);
  return { key, name: key, broker, provider: 'BROKER', isActive, api: bridgeApi(key), sys: null };
}

const isAway = (error: unknown) => error instanceof ServiceError && error.code === 'BROKER_UNREACHABLE';

/** Brokers may return credentials in the status. */
const open = (status: unknown): BridgeStatus => ({
  status: runSync(masked(status, SecretPlace.whole(null, { byName: true }))),
});

const FROM_A_FILE =
  'The broker runs this bridge from its configuration file, which cannot be read or changed over MQTT: change mosquitto.conf and restart the broker (2.1 also reads it again at SIGHUP). Alternatively configure the `mqtt-bridge` of this service';

function configurable({ api }: Pick<BridgeView, 'api'>): BridgeApi {
  if (api !== null) return api;
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', FROM_A_FILE, { info: { reason: FROM_A_FILE } });
}
