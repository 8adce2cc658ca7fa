import type { Logger } from 'pino';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { ServiceError } from '../../platform/errors.ts';
import { SerialQueues } from '../../platform/scheduling/serial-queues.ts';
import { within } from '../../platform/scheduling/within.ts';
import { getLicenseInformation, type LicenseInformation } from '../../protocol/apis/license.ts';
import { type BrokerPlugin, listPlugins } from '../../protocol/control/broker-plugins.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import { type GatewayPlugins, mergeGatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { connectionAttempts } from '../../protocol/mqtt/connection-attempts.ts';
import type { BrokerLinkOptions } from '../../protocol/mqtt/link-options.ts';
import { newReadingLimits } from '../../protocol/mqtt/reading-limits.ts';
import { ReadingTimeLimit } from '../../protocol/mqtt/reading-time-limit.ts';
import { awayReason, unreachable, whenConnected } from '../../protocol/mqtt/when-connected.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';
import { type BrokerRuntime, closeRuntime, createRuntime, noResponse } from './broker-runtime.ts';
import { withoutAddress } from './broker-service.ts';
import { type BrokerStatusEvent, BrokerStatusFeed } from './broker-status-feed.ts';
import { LastLicenses } from './last-licenses.ts';
import { isElsewhere, isReachable, type LinkSettingsOptions, linkSettings, sameConnection } from './link-settings.ts';
import { LinkShares } from './link-shares.ts';
import type { SysTopics, SysTopicsSample } from './sys-topics.ts';

export type BrokerInfoData = Awaited<ReturnType<BrokerRuntimes['info']>>;

interface BrokerRuntimesOptions extends LinkSettingsOptions {
  readonly brokers: BrokerCache;
  readonly timeoutMs: number;
  /** Maximum number of links; if there are more brokers, LinkShares selects those that have one. */
  readonly maxLinks: number;
  /** The owner of a project, whose projects share the owner's links. Default: each project has its own share. */
  readonly ownerOf?: (projectId: string) => string;
  /** The node over which the entry of a cluster is reached; any other broker itself. `null`: no node is reachable. */
  readonly standInOf?: (broker: BrokerRecord) => BrokerRecord | null;
  readonly log: Logger;
}

type PluginsOf<Result> = (link: BrokerLinkOptions) => Result;

/**
 * The connections to brokers: for each broker with an address a link, its control APIs and its values below $SYS.
 * Follows the cache of brokers. Opening and closing of one broker happen in order. A request to a broker that is down
 * fails immediately. No link is opened before `start` or `startOnDemand`.
 */
export class BrokerRuntimes {
  readonly #options: BrokerRuntimesOptions;
  readonly #shares: LinkShares;
  readonly #runtimes = new Map<string, BrokerRuntime>();
  /** Why a runtime could not be opened (a missing file, a secret that cannot be opened). */
  readonly #failures = new Map<string, LinkStatus>();
  readonly #licenses = new LastLicenses();
  /** Openings and closings, by broker. */
  readonly #queues = new SerialQueues();
  /** Shared by all links of this process, including observers. */
  readonly #readingLimits = newReadingLimits(new ReadingTimeLimit());
  readonly #statuses: BrokerStatusFeed;
  readonly #listeners = new Set<(runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING') => void>();
  readonly #pluginsOf: PluginsOf<GatewayPlugins>[] = [];
  #replacement: PluginsOf<GatewayPlugins | null> = () => null;
  readonly #stop: () => void;
  /** Whether the log says that brokers wait because of `maxLinks`. */
  #isShortageLogged = false;
  #opening: 'NONE' | 'ALL' | 'ON_DEMAND' = 'NONE';

  constructor(options: BrokerRuntimesOptions) {
    this.#options = options;
    this.#statuses = new BrokerStatusFeed({ ...options, statusOf: (id) => this.status(id) });
    this.#shares = new LinkShares(options.maxLinks, (id) => this.#downMs(id));
    this.#stop = options.brokers.onChange((broker, previous) => this.#brokerChanged(broker, previous));
  }

  /** Adds gateway plugins of every broker whose link opens later. */
  addPlugins(pluginsOf: PluginsOf<GatewayPlugins>): void {
    this.#pluginsOf.push(pluginsOf);
  }

  /** Sets gateway plugins in place of all added ones, for the brokers that `pluginsOf` does not return `null` for. */
  replacePlugins(pluginsOf: PluginsOf<GatewayPlugins | null>): void {
    this.#replacement = pluginsOf;
  }

  async start(): Promise<void> {
    this.#opening = 'ALL';
    for (const broker of this.#options.brokers.all()) this.#brokerChanged(broker, null);
    await this.#queues.idle();
  }

  /** Opens the link to a broker with the first request: for a process that runs a single command and no brokers. */
  startOnDemand(): void {
    this.#opening = 'ON_DEMAND';
  }

  readonly countLinks = (): number => this.#runtimes.size;

  readonly isConnected = (id: string): boolean => this.#runtimes.get(id)?.link.status.state === 'CONNECTED';

  /** Of the brokers that this process connects to, 0 to 1, rounded down to hundredths. `null` if there are none. */
  connectedShare(): number | null {
    const wanted = this.#options.brokers.all().filter(isReachable);
    if (wanted.length === 0) return null;
    const connected = wanted.filter(({ id }) => this.isConnected(id));
    return Math.floor((connected.length / wanted.length) * 100) / 100;
  }

  status(id: string): LinkStatus {
    return this.#runtimes.get(id)?.link.status ?? this.#failures.get(id) ?? this.#withoutLink(id);
  }

  /** `null` if no link to the broker is open. */
  find(id: string): BrokerRuntime | null {
    return this.#runtimes.get(id) ?? null;
  }

  /** Whether brokers have no link because of `maxLinks`. */
  get isFull(): boolean {
    return this.#shares.hasWaiting;
  }

  /** Errors: BROKER_UNREACHABLE (the broker has no address, is stopped, or has invalid settings). */
  get({ id, name, url, type, state, problem }: BrokerRecord): BrokerRuntime {
    const runtime = this.#runtimes.get(id);
    if (runtime !== undefined) return runtime;
    if (url === null) throw withoutAddress(name);
    const isStopped = type === 'CLOUD' && state === 'INACTIVE' && problem === null;
    const reason = isStopped ? `The broker "${name}" is stopped: start it first` : 'Not connected yet';
    throw new ServiceError('BROKER_UNREACHABLE', awayReason(this.status(id), reason));
  }

  /**
   * Waits for the first attempt to connect, and fails immediately if the broker is known to be down. With `triesNow` it
   * first tries to connect to such a broker (BrokerLink.tryNow).
   */
  async ask<T>(
    broker: BrokerRecord,
    request: (runtime: BrokerRuntime) => Promise<T>,
    { triesNow = false } = {},
  ): Promise<T> {
    const { timeoutMs } = this.#options;
    const work = async () => {
      if (this.#opening === 'ON_DEMAND') this.#openOnDemand(broker);
      if (this.#queues.isRunning(broker.id)) await this.#queues.run(broker.id, async () => undefined);
      const runtime = this.get(broker);
      runtime.link.hurry();
      if (triesNow) await runtime.link.tryNow();
      await whenConnected(runtime.link, timeoutMs);
      // The runtime was closed meanwhile; a watcher would follow a closed link.
      if (this.#runtimes.get(broker.id) !== runtime) throw unreachable(runtime.link.status);
      return request(runtime);
    };
    return within(timeoutMs, work(), () => noResponse(broker.name, timeoutMs));
  }

  async license(broker: BrokerRecord, { triesNow = false } = {}): Promise<LicenseInformation> {
    const license = await this.ask(broker, ({ controls }) => getLicenseInformation(controls), { triesNow });
    if (this.#options.brokers.get(broker.id) !== null) this.#licenses.set(broker.id, license);
    return license;
  }

  capabilities(broker: BrokerRecord): Promise<ControlCapability[]> {
    return this.ask(broker, ({ controls }) => controls.capabilities());
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER with the reason if the broker does not list its plugins. */
  plugins(broker: BrokerRecord): Promise<BrokerPlugin[]> {
    return this.ask(broker, ({ controls }) => listPlugins(controls));
  }

  sysTopics(id: string): SysTopics | null {
    return this.#runtimes.get(id)?.sys ?? null;
  }

  /** Tries to connect first. While the broker is down: the last known values. */
  async info(broker: BrokerRecord) {
    const license = await this.license(broker, { triesNow: true }).catch((error: unknown) => {
      if (error instanceof ServiceError) return this.#licenses.of(broker.id);
      throw error;
    });
    const sys = this.sysTopics(broker.id);
    return {
      broker,
      isConnected: this.isConnected(broker.id),
      sysTopics: sys?.current() ?? ({ topics: {}, date: Date.parse(broker.updatedAt) } satisfies SysTopicsSample),
      sysTopicsHistory: sys?.history() ?? [],
      license,
    };
  }

  watchStatus(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    return this.#statuses.watch(projectId, only, options);
  }

  /** Calls the listener for each open runtime, for each that is opened, and before one is closed. */
  onRuntime(listener: (runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING') => void): void {
    this.#listeners.add(listener);
    for (const runtime of this.#runtimes.values()) listener(runtime, 'OPENED');
  }

  /** Reconnects over another node of the cluster. */
  reopen(id: string): void {
    const broker = this.#options.brokers.get(id);
    if (broker === null || this.#opening !== 'ALL') return;
    this.#enqueue(id, async () => {
      await this.#closeRuntime(id);
      await this.#openRuntime(broker);
    });
  }

  async close(): Promise<void> {
    this.#opening = 'NONE';
    this.#stop();
    this.#statuses.close();
    const release = connectionAttempts.hold();
    await this.#queues.idle();
    await Promise.all([...this.#runtimes.keys()].map((id) => this.#closeRuntime(id))).finally(release);
  }

  #brokerChanged(current: BrokerRecord | null, previous: BrokerRecord | null): void {
    const broker = current ?? previous;
    if (broker === null || this.#opening === 'NONE') return;
    if (current === null || isElsewhere(current, previous)) this.#licenses.delete(broker.id);
    if (this.#opening === 'ON_DEMAND' && !this.#runtimes.has(broker.id)) return;
    // Trust matters only for the next connection.
    const isTrustChanged = current?.trustedUrl !== previous?.trustedUrl && !this.isConnected(broker.id);
    if (current === null || previous === null || isTrustChanged || !sameConnection(current, previous)) {
      this.#enqueue(broker.id, async () => {
        await this.#closeRuntime(broker.id);
        if (current !== null && isReachable(current)) await this.#openRuntime(current);
        else this.#releaseLink(broker.id);
      });
    }
    this.#statuses.publish(broker, current);
  }

  /** Tries only once per process. Errors: BROKER_UNREACHABLE for a broker that the service runs. */
  #openOnDemand(broker: BrokerRecord): void {
    const { id, name, type, url } = broker;
    if (type === 'CLOUD') {
      throw new ServiceError(
        'BROKER_UNREACHABLE',
        `The broker "${name}" runs inside the service, which is not running on this data folder: start the service first`,
      );
    }
    if (url === null || this.#runtimes.has(id) || this.#failures.has(id) || this.#queues.isRunning(id)) return;
    this.#enqueue(id, () => this.#openRuntime(broker));
  }

  #linkChanged(id: string, status: LinkStatus): void {
    const broker = this.#options.brokers.get(id);
    this.#statuses.noteOutage(id, broker, status);
    if (broker !== null) this.#statuses.publish(broker, broker);
  }

  #enqueue(id: string, step: () => Promise<void>): void {
    const work = async () => {
      // The caller first publishes the status before the step.
      await null;
      await step();
    };
    this.#queues.run(id, work).catch((error: unknown) => {
      this.#options.log.error({ err: error, brokerId: id }, 'cannot open or close the connection to a broker');
    });
  }

  /** The status of a broker without an address, or before its link is opened. */
  #withoutLink(id: string): LinkStatus {
    const broker = this.#options.brokers.get(id);
    if (broker === null) return { state: 'CLOSED', since: new Date().toISOString() };
    const { problem, updatedAt: since } = broker;
    if (isReachable(broker)) return { state: 'CONNECTING', since };
    return { state: 'CLOSED', since, ...(problem === null ? {} : { lastError: problem }) };
  }

  #claimLink({ id, projectId, type }: BrokerRecord): boolean {
    const { ownerOf = (project) => project } = this.#options;
    const claim = { id, projectId, owner: ownerOf(projectId), isOwn: type === 'CLOUD' };
    const { isGranted, evicted } = this.#shares.claim(claim);
    if (evicted !== null) {
      this.#enqueue(evicted, async () => {
        // The broker may have got another link meanwhile.
        if (this.#shares.holds(evicted)) return;
        await this.#closeRuntime(evicted);
        this.#waitForLink(evicted);
      });
    }
    return isGranted;
  }

  #waitForLink(id: string): void {
    const broker = this.#options.brokers.get(id);
    if (broker === null) return;
    if (!this.#isShortageLogged) {
      this.#isShortageLogged = true;
      const { log, maxLinks } = this.#options;
      log.warn({ maxLinks, brokerId: id, name: broker.name }, 'MAX_BROKER_LINKS is reached: further brokers wait');
    }
    this.#failures.set(id, { state: 'UNREACHABLE', since: new Date().toISOString(), lastError: NO_LINK });
    this.#statuses.publish(broker, broker);
  }

  #releaseLink(id: string): void {
    const next = this.#shares.release(id);
    if (!this.#shares.hasWaiting) this.#isShortageLogged = false;
    if (next === null || this.#opening === 'NONE') return;
    this.#enqueue(next, async () => {
      const broker = this.#options.brokers.get(next);
      if (broker === null || !isReachable(broker)) this.#releaseLink(next);
      else if (!this.#runtimes.has(next)) {
        this.#failures.delete(next);
        await this.#openRuntime(broker);
      }
    });
  }

  #downMs(id: string): number {
    const status = this.#runtimes.get(id)?.link.status;
    if (status === undefined || status.state === 'CONNECTED') return 0;
    return Math.max(1, Date.now() - Date.parse(status.since));
  }

  async #openRuntime(broker: BrokerRecord): Promise<void> {
    const { id } = broker;
    if (this.#opening === 'NONE') return;
    if (!this.#claimLink(broker)) return this.#waitForLink(id);
    let link: BrokerLink | null = null;
    try {
      const options = await this.#linkOptions(broker);
      link = new BrokerLink(options);
      link.onStatus((status) => this.#linkChanged(id, status));
      link.open();
      const { log, standInOf = (itself) => itself } = this.#options;
      const runtime = createRuntime({
        link,
        linkOptions: options,
        readingLimits: this.#readingLimits,
        gateway: this.#replacement(options) ?? mergeGatewayPlugins(this.#pluginsOf.map((of) => of(options))),
        alwaysResponds: standInOf(broker)?.engine === 'embedded',
        onFault: (error) => log.error({ err: error, brokerId: id }, 'a listener of a broker failed'),
      });
      this.#runtimes.set(id, runtime);
      this.#announce(runtime, 'OPENED');
    } catch (error) {
      const { log } = this.#options;
      let lastError = 'The settings of the broker cannot be used: see the log';
      if (error instanceof ServiceError) {
        lastError = error.message;
        const context = { brokerId: id, name: broker.name, error: lastError };
        log.warn(context, 'cannot connect to a broker because of its settings');
      } else log.error({ err: error, brokerId: id, name: broker.name }, 'cannot open the connection to a broker');
      this.#failures.set(id, { state: 'UNREACHABLE', since: new Date().toISOString(), lastError });
      await link?.close();
      this.#releaseLink(id);
      this.#statuses.publish(broker, broker);
    }
  }

  #announce(runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING'): void {
    for (const listener of this.#listeners) {
      try {
        listener(runtime, change);
      } catch (error) {
        // A failing listener must not prevent opening or closing the link.
        const context = { err: error, brokerId: runtime.id, change };
        this.#options.log.error(context, 'a listener for broker connections failed');
      }
    }
  }

  async #closeRuntime(id: string): Promise<void> {
    this.#failures.delete(id);
    const runtime = this.#runtimes.get(id);
    if (runtime === undefined) return;
    this.#runtimes.delete(id);
    this.#announce(runtime, 'CLOSING');
    await closeRuntime(runtime);
  }

  async #linkOptions(entry: BrokerRecord): Promise<BrokerLinkOptions> {
    const { id, projectId: group, name } = entry;
    const { timeoutMs, log, standInOf = (itself) => itself } = this.#options;
    const broker = standInOf(entry);
    if (broker === null) throw new ServiceError('BROKER_UNREACHABLE', `No node of "${name}" is reachable`);
    return {
      ...(await linkSettings(broker, this.#options)),
      id,
      group,
      timeoutMs,
      readingLimits: this.#readingLimits,
      onFault: (error) => log.error({ err: error, brokerId: id }, 'a listener of a broker link failed'),
    };
  }
}

const NO_LINK =
  'All connections of this service to brokers are in use (MAX_BROKER_LINKS), and the share of this project, too: the service connects to the broker when a connection becomes free';
