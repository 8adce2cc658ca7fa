import type { Logger } from 'pino';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { BrokerControls } from '../../protocol/control/broker-controls.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import type { BrokerLink, BrokerLinkOptions } from '../../protocol/mqtt/broker-link.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { Fleet } from '../../protocol/mqtt/fleet.ts';
import { newIntake } from '../../protocol/mqtt/intake.ts';
import { LeasedLink } from '../../protocol/mqtt/leased-link.ts';
import { ReadingTime } from '../../protocol/mqtt/reading-time.ts';
import { unreachable, whenConnected } from '../../protocol/mqtt/when-connected.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';
import { type ConnectionRules, readConnectionFile } from './broker-connection.ts';
import { withoutAddress } from './broker-service.ts';
import { type BrokerStatusChange, type BrokerStatusEvent, BrokerStatusFeeds } from './broker-status.ts';
import { withDeadline } from './deadline.ts';
import { getLicenseInformation, type LicenseInformation } from './license-control.ts';
import { LinkShares } from './link-shares.ts';
import { SysTopics, type SysTopicsSample } from './sys-topics.ts';

export interface BrokerRuntime {
  readonly id: string;
  readonly link: BrokerLink;
  /** A second connection for what may be much, so that it costs `link` nothing. */
  readonly observer: LeasedLink;
  /** Of the connections that this service itself has to the broker, open or not. */
  readonly clientIds: readonly string[];
  /** What the ids of further ones begin with, up to their last `-`. */
  readonly clientIdPrefixes: readonly string[];
  readonly controls: BrokerControls;
  readonly sys: SysTopics;
}

export interface BrokerInfoData {
  readonly broker: BrokerRecord;
  readonly isConnected: boolean;
  readonly sysTopics: SysTopicsSample;
  readonly sysTopicsHistory: readonly SysTopicsSample[];
  /** Null while the broker cannot be asked. */
  readonly license: LicenseInformation | null;
}

export interface BrokerRuntimesOptions {
  readonly brokers: BrokerCache;
  readonly sealer: Sealer;
  readonly rules: ConnectionRules;
  /** Longest wait for one broker's answer, milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of links; LinkShares says which brokers have one when there are more. */
  readonly maxLinks: number;
  /** The owner of a project, whose projects have one share of the links together. Default: each project has its own. */
  readonly ownerOf?: (projectId: string) => string;
  /** What this service runs beside a broker, by what its link is made from. */
  readonly gatewayPlugins: (link: BrokerLinkOptions) => GatewayPlugins;
  /** By which entry the broker of an entry is reached that stands for several; itself for any other. Null: none of them can be. */
  readonly standInOf?: (broker: BrokerRecord) => BrokerRecord | null;
  readonly log: Logger;
}

/** Looked for as soon as a broker is connected. */
const EAGER: readonly ControlApi[] = ['dynamic-security', 'cedalo/inspect', 'cedalo/license', 'broker'];

/**
 * The live side of brokers: for each entry with an address a link, its control APIs and what it publishes below $SYS.
 *
 * Follows the cache of brokers: an added broker is connected to, a changed one anew, a removed one closed. Opening and closing of
 * one broker happen in order. A broker that is down costs its own callers an error at once, never a wait. Neither started nor
 * `startOnDemand`, it opens nothing.
 */
export class BrokerRuntimes {
  readonly #options: BrokerRuntimesOptions;
  readonly #fleet = new Fleet();
  readonly #shares: LinkShares;
  readonly #runtimes = new Map<string, BrokerRuntime>();
  /** Why a runtime could not be opened (a file gone, a secret that does not open). */
  readonly #failures = new Map<string, LinkStatus>();
  /** The last thing asked of each broker's runtime, so that the next waits for it. */
  readonly #queues = new Map<string, Promise<void>>();
  /** Of all links of this process, observers among them. */
  readonly #intake = newIntake(new ReadingTime());
  readonly #status = new BrokerStatusFeeds((projectId) => this.#snapshot(projectId));
  readonly #listeners = new Set<(runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING') => void>();
  readonly #stop: () => void;
  #opening: 'NONE' | 'ALL' | 'ASKED' = 'NONE';

  constructor(options: BrokerRuntimesOptions) {
    this.#options = options;
    this.#shares = new LinkShares(options.maxLinks, (id) => this.#downMs(id));
    this.#fleet.onStatus((id, status) => this.#linkChanged(id, status));
    this.#stop = options.brokers.onChange((after, before) => this.#entryChanged(after, before));
  }

  /** Opens a link to every cached broker; does not wait for connections. */
  async start(): Promise<void> {
    this.#opening = 'ALL';
    for (const broker of this.#options.brokers.all()) this.#entryChanged(broker, null);
    await Promise.all(this.#queues.values());
  }

  /** Opens a link to a broker when it is asked something: for a process that does one thing, and runs no brokers itself. */
  startOnDemand(): void {
    this.#opening = 'ASKED';
  }

  isConnected(id: string): boolean {
    return this.#runtimes.get(id)?.link.status.state === 'CONNECTED';
  }

  status(id: string): LinkStatus {
    return this.#runtimes.get(id)?.link.status ?? this.#failures.get(id) ?? this.#withoutLink(id);
  }

  /** Errors: BROKER_UNREACHABLE (no address, or the entry cannot be used as it stands). */
  get({ id, name, url, type, state }: BrokerRecord): BrokerRuntime {
    const runtime = this.#runtimes.get(id);
    if (runtime !== undefined) return runtime;
    if (url === null) throw withoutAddress(name);
    const isStopped = type === 'CLOUD' && state === 'INACTIVE';
    const reason = isStopped ? `The broker "${name}" is stopped: start it first` : 'Not connected yet';
    throw new ServiceError('BROKER_UNREACHABLE', this.status(id).lastError ?? reason);
  }

  /**
   * Asks a broker something, within the deadline that every broker has. Waits for a first attempt to connect; of a broker
   * that is known to be down the error comes at once.
   */
  async ask<T>(broker: BrokerRecord, question: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    const work = async () => {
      if (this.#opening === 'ASKED') this.#openAsked(broker);
      await this.#queues.get(broker.id);
      const runtime = this.get(broker);
      await whenConnected(runtime.link, timeoutMs);
      // Closed in this very moment: whoever looks on would begin to follow what has ended.
      if (this.#runtimes.get(broker.id) !== runtime) throw unreachable(runtime.link.status);
      return question(runtime);
    };
    return withDeadline(work(), timeoutMs, broker.name);
  }

  license(broker: BrokerRecord): Promise<LicenseInformation> {
    return this.ask(broker, ({ controls }) => getLicenseInformation(controls));
  }

  capabilities(broker: BrokerRecord): Promise<ControlCapability[]> {
    return this.ask(broker, ({ controls }) => controls.capabilities());
  }

  /** Never fails because the broker is down: what is known, and that it is not connected. */
  async info(broker: BrokerRecord): Promise<BrokerInfoData> {
    const license = await this.license(broker).catch((error: unknown) => {
      if (error instanceof ServiceError) return null;
      throw error;
    });
    const sys = this.#runtimes.get(broker.id)?.sys;
    return {
      broker,
      isConnected: this.isConnected(broker.id),
      sysTopics: sys?.current() ?? { topics: {}, date: Date.parse(broker.updatedAt) },
      sysTopicsHistory: sys?.history() ?? [],
      license,
    };
  }

  /** Of the project, or of those named in `only`: the brokers now, then each change of one. */
  watchStatus(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    return this.#status.watch(projectId, only, options);
  }

  /** Tells of runtimes that were opened (those open already, too) and that are about to close. */
  onRuntime(listener: (runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING') => void): void {
    this.#listeners.add(listener);
    for (const runtime of this.#runtimes.values()) listener(runtime, 'OPENED');
  }

  /** Another entry stands in for it now. */
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
    this.#status.close();
    await Promise.all(this.#queues.values());
    await Promise.all([...this.#runtimes.keys()].map((id) => this.#closeRuntime(id)));
    await this.#fleet.closeAll();
  }

  #entryChanged(after: BrokerRecord | null, before: BrokerRecord | null): void {
    const broker = after ?? before;
    if (broker === null || this.#opening === 'NONE') return;
    if (this.#opening === 'ASKED' && !this.#runtimes.has(broker.id)) return;
    // A broker that is connected needs no trust to stay so.
    const isTrustedNow = after?.trustedUrl !== before?.trustedUrl && !this.isConnected(broker.id);
    if (after === null || before === null || isTrustedNow || !sameConnection(after, before)) {
      this.#enqueue(broker.id, async () => {
        await this.#closeRuntime(broker.id);
        if (after !== null && isReachable(after)) await this.#openRuntime(after);
        else this.#releaseLink(broker.id);
      });
    }
    this.#tell(broker, after);
  }

  /** Once: what failed stays so for whoever asks again. Errors: BROKER_UNREACHABLE for a broker that the service runs. */
  #openAsked(broker: BrokerRecord): void {
    const { id, name, type, url } = broker;
    if (type === 'CLOUD') {
      throw new ServiceError(
        'BROKER_UNREACHABLE',
        `The broker "${name}" runs inside the service, which does not run on this data folder: start the service first`,
      );
    }
    if (url === null || this.#runtimes.has(id) || this.#failures.has(id) || this.#queues.has(id)) return;
    this.#enqueue(id, () => this.#openRuntime(broker));
  }

  #linkChanged(id: string, status: LinkStatus): void {
    const broker = this.#options.brokers.get(id);
    if (broker === null) return;
    this.#options.log.info({ brokerId: id, state: status.state, error: status.lastError }, 'broker connection changed');
    this.#tell(broker, broker);
  }

  #tell(broker: BrokerRecord, after: BrokerRecord | null): void {
    this.#status.tell(broker.projectId, {
      brokerId: broker.id,
      broker: after,
      connection: after === null ? { state: 'CLOSED', since: Date.now() } : this.status(broker.id),
    });
  }

  #snapshot(projectId: string): BrokerStatusChange[] {
    return this.#options.brokers
      .ofProject(projectId)
      .map((broker) => ({ brokerId: broker.id, broker, connection: this.status(broker.id) }));
  }

  #enqueue(id: string, step: () => Promise<void>): void {
    const done = (this.#queues.get(id) ?? Promise.resolve())
      .then(step)
      // A bug in one step must not keep the next from its turn, nor end the process.
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, brokerId: id }, 'a broker could not be followed'),
      )
      .finally(() => {
        if (this.#queues.get(id) === done) this.#queues.delete(id);
      });
    this.#queues.set(id, done);
  }

  /** Of a broker without an address, and in the moments before its link is opened. */
  #withoutLink(id: string): LinkStatus {
    const broker = this.#options.brokers.get(id);
    const since = broker === null ? Date.now() : Date.parse(broker.updatedAt);
    return { state: broker !== null && isReachable(broker) ? 'CONNECTING' : 'CLOSED', since };
  }

  /** Whether the broker has a link. Another one may lose its link by it. */
  #claimLink({ id, projectId, type }: BrokerRecord): boolean {
    const { ownerOf = (project) => project } = this.#options;
    const claim = { id, projectId, owner: ownerOf(projectId), isOwn: type === 'CLOUD' };
    const { isGranted, evicted } = this.#shares.claim(claim);
    if (evicted !== null) {
      this.#enqueue(evicted, async () => {
        // It may have got another one meanwhile.
        if (this.#shares.holds(evicted)) return;
        await this.#closeRuntime(evicted);
        this.#waits(evicted);
      });
    }
    return isGranted;
  }

  #waits(id: string): void {
    const broker = this.#options.brokers.get(id);
    if (broker === null) return;
    this.#failures.set(id, { state: 'UNREACHABLE', since: Date.now(), lastError: NO_LINK });
    this.#tell(broker, broker);
  }

  #releaseLink(id: string): void {
    const next = this.#shares.release(id);
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

  /** Of a link that is not connected, how long it has been so; else 0. */
  #downMs(id: string): number {
    const { state, since } = this.#runtimes.get(id)?.link.status ?? {};
    return state === undefined || state === 'CONNECTED' ? 0 : Math.max(1, Date.now() - (since ?? 0));
  }

  async #openRuntime(broker: BrokerRecord): Promise<void> {
    const { id } = broker;
    if (!this.#claimLink(broker)) {
      this.#waits(id);
      return;
    }
    try {
      const options = await this.#linkOptions(broker);
      this.#fleet.add(options);
      const link = this.#fleet.get(id);
      const observer = new LeasedLink({ ...options, clientId: `${link.clientId}-observer` });
      const { timeoutMs, gatewayPlugins, log } = this.#options;
      const { plugins, clientIds, clientIdPrefixes = [] } = gatewayPlugins(options);
      const onFault = (error: unknown) => log.error({ err: error, brokerId: id }, 'a listener of a broker failed');
      const runtime: BrokerRuntime = {
        id,
        link,
        observer,
        clientIds: [link.clientId, observer.clientId, ...clientIds],
        clientIdPrefixes,
        // Found out right after connecting: clients of a plain Mosquitto are known only from when they are followed, and a
        // Mosquitto 2.0 answers the question for an API that it lacks by a second of silence.
        controls: new BrokerControls(link, { timeoutMs, plugins, eager: EAGER, ...this.#silenceOf(broker), onFault }),
        sys: new SysTopics(link),
      };
      this.#runtimes.set(id, runtime);
      this.#announce(runtime, 'OPENED');
    } catch (error) {
      const { log } = this.#options;
      if (error instanceof ServiceError)
        log.warn({ brokerId: id, error: error.message }, 'a broker cannot be connected to as its entry stands');
      else log.error({ err: error, brokerId: id }, 'a broker could not be opened');
      const lastError =
        error instanceof ServiceError ? error.message : 'The entry could not be used; the log has the reason';
      this.#failures.set(id, { state: 'UNREACHABLE', since: Date.now(), lastError });
      await this.#fleet.close(id);
      this.#releaseLink(id);
      this.#tell(broker, broker);
    }
  }

  #announce(runtime: BrokerRuntime, change: 'OPENED' | 'CLOSING'): void {
    for (const listener of this.#listeners) {
      try {
        listener(runtime, change);
      } catch (error) {
        // Whose listener it is must not cost the broker its link, or keep an old one open.
        this.#options.log.error({ err: error, brokerId: runtime.id, change }, 'a follower of brokers failed');
      }
    }
  }

  async #closeRuntime(id: string): Promise<void> {
    this.#failures.delete(id);
    const runtime = this.#runtimes.get(id);
    if (runtime === undefined) return;
    this.#runtimes.delete(id);
    this.#announce(runtime, 'CLOSING');
    runtime.sys.close();
    await runtime.controls.close();
    await Promise.all([runtime.observer.close(), this.#fleet.close(id)]);
  }

  /** Embedded brokers respond to every request, so silence is no refusal. */
  #silenceOf(broker: BrokerRecord): { readonly silenceMs?: null } {
    const { standInOf = (itself) => itself } = this.#options;
    return standInOf(broker)?.engine === 'embedded' ? { silenceMs: null } : {};
  }

  async #linkOptions({ id, name, ...entry }: BrokerRecord): Promise<BrokerLinkOptions> {
    const { sealer, rules, timeoutMs, log, standInOf = (itself) => itself } = this.#options;
    const broker = standInOf({ id, name, ...entry });
    if (broker === null) throw new ServiceError('BROKER_UNREACHABLE', `No node of "${name}" is reached`);
    const { url, username, sealedPassword, sealedClientKey, verifyCaCert } = broker;
    if (url === null) throw withoutAddress(broker.name);
    const inline = {
      ca: broker.caCert,
      cert: broker.clientCert,
      key: open(sealer, sealedClientKey, `${broker.id}/clientKey`),
    };
    const files = { ca: broker.caCertFile, cert: broker.clientCertFile, key: broker.clientKeyFile };
    const tls: { ca?: string; cert?: string; key?: string } = {};
    for (const name of ['ca', 'cert', 'key'] as const) {
      const file = files[name];
      const pem = inline[name] ?? (file === null ? null : await readConnectionFile(file, rules.filesDir));
      if (pem !== null) tls[name] = pem;
    }
    const password = open(sealer, sealedPassword, `${broker.id}/password`);
    return {
      id,
      url,
      timeoutMs,
      verifyCa: verifyCaCert,
      // Those that this service runs are where it put them.
      ...(broker.type === 'CLOUD' ? {} : hostsOf(rules, broker)),
      ...(username === null ? {} : { username }),
      ...(password === null ? {} : { password }),
      ...tls,
      intake: this.#intake,
      onFault: (error) => log.error({ err: error, brokerId: id }, 'a listener of a broker link failed'),
    };
  }
}

const NO_LINK =
  'All connections that this service opens to brokers are in use (MAX_BROKER_LINKS), and the share of the project with them: the broker is connected to when one is free';

const hostsOf = ({ allowedHosts, inside = 'ALL' }: ConnectionRules, { trustedUrl }: BrokerRecord) => ({
  allowedHosts,
  inside: trustedUrl ? ('ALL' as const) : inside,
});

const open = (sealer: Sealer, sealed: string | null, context: string) =>
  sealed === null ? null : sealer.open(sealed, context);

/** What a link is made from; other changes of an entry leave it alone. */
const CONNECTION_COLUMNS = [
  'url',
  'username',
  'sealedPassword',
  'caCert',
  'caCertFile',
  'clientCert',
  'clientCertFile',
  'sealedClientKey',
  'clientKeyFile',
  'verifyCaCert',
] as const satisfies (keyof BrokerRecord)[];

/**
 * A broker that this service runs has its address only while it runs: somebody else may listen there otherwise. For other settings it is
 * away for a moment, and what follows it lives on.
 */
const isReachable = ({ type, state, url }: BrokerRecord) =>
  url !== null && (type !== 'CLOUD' || state === 'ACTIVE' || state === 'UPDATING');

/** A link made from one is as good as one made from the other. */
export const sameConnection = (a: BrokerRecord, b: BrokerRecord) =>
  isReachable(a) === isReachable(b) && CONNECTION_COLUMNS.every((column) => a[column] === b[column]);
