import { randomBytes } from 'node:crypto';
import type { IConnackPacket } from 'mqtt';
import { invalid, ServiceError } from '../../platform/errors.ts';
import type { IterationBatch } from '../../platform/scheduling/iteration-batch.ts';
import type {
  BrokerMessage,
  BrokerSession,
  LinkState,
  LinkStatus,
  PublishOptions,
  SessionAction,
  Stop,
  SubscribeOptions,
  TakenSession,
} from './broker-session.ts';
import { connectOnce } from './connect-once.ts';
import { type BrokerAddress, type ConnectOptions, connectOptions } from './connect-options.ts';
import { type Intake, newIntake } from './intake.ts';
import { LinkConnection } from './link-connection.ts';
import { CLOSED_BEFORE_CONNACK, disconnected, failureOf, type LinkFailure } from './link-failure.ts';
import { matchingFilters } from './matching-filters.ts';
import type { Taken } from './outgoing-messages.ts';
import { CONTROL_LINK_LIMITS, largestOf, type PacketLimits } from './packet-limits.ts';
import { retryDelay } from './retry-delay.ts';
import type { SplitClientOptions } from './split-client.ts';
import { type MessageListener, type SharedFilter, Subscriptions } from './subscriptions.ts';
import { takeOver } from './take-over.ts';
import { filterProblem, topicProblem } from './topics.ts';
import { UnclaimedMessages } from './unclaimed-messages.ts';
import { unreachable } from './when-connected.ts';

/**
 * One MQTT connection to one broker, kept up until closed: CONNECTING -> CONNECTED <-> UNREACHABLE / UNAUTHORISED -> CLOSED.
 *
 * Every attempt is a fresh client, so nothing of a lost connection (queued packets, unacknowledged publishes) goes out later: a
 * publish that cannot go out fails now, and the caller decides what to keep.
 * Subscriptions are kept here and made again before the link is told to be CONNECTED. MQTT 5 is tried first and 3.1.1 from
 * then on when the broker refuses 5. With MQTT 5 the broker is asked to keep the session for a minute, so that a short
 * interruption loses no message of QoS 1 and 2; `status.resumed` says whether it did.
 *
 * Bounds: MAX_FILTERS filters; of what arrives `limits` and `intake`; of publishes those of OutgoingMessages or of its caller. More are refused, nothing is dropped silently.
 * Units: milliseconds, bytes. Errors: see BrokerSession; also INVALID for topics, filters and settings that cannot be used.
 */
export interface BrokerLinkOptions extends BrokerAddress {
  /** Names the link; part of the client id. */
  readonly id: string;
  /** Longest wait for a CONNACK, SUBACK or PUBACK. */
  readonly timeoutMs: number;
  /** Default: `brokergraph-<id>-<random>`. */
  readonly clientId?: string;
  /** Seconds. Default 15: a broker that vanished without a word is noticed within one and a half times this. */
  readonly keepaliveSeconds?: number;
  /** Seconds that an MQTT 5 broker keeps the session after the connection is lost. Default 60; 0: none. */
  readonly sessionExpirySeconds?: number;
  /**
   * The session that an earlier process left is taken up, and messages are acknowledged when they are released (BrokerMessage.hold): what
   * is not comes again, to this link or the next one with its client id. With 3.1.1, too, where the broker says how long.
   */
  readonly isLasting?: boolean;
  /** Messages of QoS 1 and 2 that the broker may send before they are acknowledged; with 3.1.1 it decides. Default 65,535. */
  readonly receiveMaximum?: number;
  /** Of a link that lasts: what waits in the session for filters that it no more subscribes to goes to those that match. Default false. */
  readonly isClaimedByTopic?: boolean;
  /** Filters that the session may have from before: ended as soon as those are subscribed that are subscribed in the moment of the connection. */
  readonly leftOver?: readonly string[];
  /** How long messages for the filters of an earlier process wait for these to be subscribed again. Default 10,000. */
  readonly claimMs?: number;
  /** Largest packets that are accepted; an MQTT 5 broker is told. Default: CONTROL_LINK_LIMITS. */
  readonly limits?: PacketLimits;
  /** Shared by the links of a thread. Default: its own. */
  readonly intake?: Intake;
  /** See OutgoingLimits. Default false. */
  readonly isBoundedByCaller?: boolean;
  /** Of the links whose packets go out together. Default: its own. */
  readonly iterationBatch?: IterationBatch;
  /** Tried first. Default 5. */
  readonly version?: 4 | 5;
  /** A listener threw: a bug, which must not take the others' messages. */
  readonly onFault?: (error: unknown) => void;
}

const KEEPALIVE_SECONDS = 15;
const MAX_FILTERS = 10_000;
const CLAIM_MS = 10_000;
/** A connection that did not last so long (ms) says little: who ends each one at once is not to be asked twenty times a second. */
const BRIEF_MS = 2_000;
/** Between attempts to find a filter that nobody wants. */
const UNWANTED_MS = 1_000;

export class BrokerLink implements BrokerSession {
  readonly clientId: string;
  #options: BrokerLinkOptions;
  readonly #intake: Intake;
  readonly #subscriptions: Subscriptions;
  readonly #unclaimed: UnclaimedMessages;
  /** See ConnectionOptions.received. */
  readonly #received: Set<number> | null;
  /** Filters that the session may still have and nobody listens to. */
  readonly #leftOver: Set<string>;
  #nextUnsubscribe = 0;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  readonly #onFault: (error: unknown) => void;
  #status: LinkStatus = { state: 'CONNECTING', since: Date.now() };
  #connection: LinkConnection | null = null;
  #isPaused = false;
  #retry: NodeJS.Timeout | null = null;
  #attempts = 0;
  #downSince = Date.now();
  /** Brief connections in a row. */
  #brief = 0;
  #version: 4 | 5;
  /** The broker has answered a CONNECT of this version, so a silent refusal is no reason to try the other. */
  #versionProven = false;
  #everConnected = false;

  constructor(options: BrokerLinkOptions) {
    const { id, isLasting = false, isClaimedByTopic = false, leftOver = [], claimMs = CLAIM_MS } = options;
    this.#options = options;
    this.#intake = options.intake ?? newIntake();
    this.#onFault = options.onFault ?? (() => undefined);
    this.#version = options.version ?? 5;
    this.clientId = options.clientId ?? `brokergraph-${id}-${randomBytes(4).toString('hex')}`;
    this.#leftOver = new Set(leftOver);
    const onStray = isClaimedByTopic ? (topic: string) => this.#unsubscribeUnwanted(topic) : undefined;
    this.#subscriptions = new Subscriptions(this.#onFault, { lasting: isLasting, onStray });
    this.#unclaimed = new UnclaimedMessages(claimMs);
    this.#received = isLasting ? new Set() : null;
  }

  get status(): LinkStatus {
    return this.#status;
  }

  get username(): string | null {
    return connectOptions(this.#options).username ?? null;
  }

  get isWebSocket(): boolean {
    return connectOptions(this.#options).protocol?.startsWith('ws') === true;
  }

  get keepaliveSeconds(): number {
    return this.#options.keepaliveSeconds ?? KEEPALIVE_SECONDS;
  }

  get protocolVersion(): 4 | 5 | null {
    return this.#connection?.isConnected ? this.#connection.version : null;
  }

  /** Starts the first attempt; further calls do nothing. Errors: INVALID settings. */
  open(): void {
    if (this.#connection || this.#retry || this.#status.state === 'CLOSED') return;
    connectOptions(this.#options);
    this.#attempt();
  }

  /** Connects anew with other settings. Listeners and subscriptions stay. Errors: INVALID settings, the old ones then stay. */
  reconfigure(options: BrokerLinkOptions): void {
    if (this.#status.state === 'CLOSED') return;
    connectOptions(options);
    this.#options = options;
    this.#version = options.version ?? 5;
    this.#versionProven = false;
    this.#everConnected = false;
    void this.#dropConnection(options.isLasting === true);
    this.#setStatus('CONNECTING');
    this.#downSince = Date.now();
    this.#attempts = 0;
    this.#attempt();
  }

  /** Disconnects and stays so until `open`; a lasting session, listeners and subscriptions stay. */
  suspend(why: string): void {
    if (this.#status.state === 'CLOSED') return;
    void this.#dropConnection(true);
    this.#attempts = 0;
    this.#downSince = Date.now();
    this.#setStatus('UNREACHABLE', why);
  }

  /** Ends the connection, if there is one, and connects anew as after any loss; a lasting session stays. */
  restart(why: string): void {
    if (!this.#connection) return;
    void this.#dropConnection(true);
    this.#wasConnected();
    this.#lost({ state: 'UNREACHABLE', text: why });
  }

  /**
   * Safe to call twice. Resolves when the socket is gone, within half a second. `keepSession`: what a lasting session does not have
   * acknowledged waits for the next link; otherwise the broker is told to forget it, once, if it can be reached.
   */
  async close({ keepSession = false } = {}): Promise<void> {
    if (this.#status.state === 'CLOSED') return;
    const wasConnected = this.#connection?.isConnected === true;
    const dropped = this.#dropConnection(keepSession);
    this.#setStatus('CLOSED');
    this.#listeners.clear();
    await dropped;
    // Where the DISCONNECT has not told it.
    if (!this.#options.isLasting || keepSession || (wasConnected && this.#version === 5)) return;
    await connectOnce(this.#opening()).catch(() => undefined);
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(topic: string, payload: Uint8Array | string, options: PublishOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(topic, payload, options, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** As `publish`, for many: `done` is called once, maybe before this returns. The payload must not change meanwhile. */
  send(topic: string, payload: Uint8Array | string, options: PublishOptions, done: Taken): void {
    const { qos = 0, retain = false, properties } = options;
    const connection = this.#connection;
    const problem = topicProblem(topic);
    if (!connection?.isConnected) done(unreachable(this.#status));
    else if (problem) done(invalid([{ path: '/topic', reason: problem }]));
    else connection.publish({ topic, payload, qos, retain, properties }, done);
  }

  async subscribe(filter: string, listener: MessageListener, options: SubscribeOptions = {}): Promise<Stop> {
    const connection = this.#connection;
    if (!connection?.isConnected) throw unreachable(this.#status);
    const problem = filterProblem(filter);
    if (problem) throw invalid([{ path: '/filter', reason: problem }]);
    if (this.#subscriptions.size >= MAX_FILTERS && !this.#subscriptions.has(filter)) {
      throw new ServiceError('TOO_LARGE', `More than ${MAX_FILTERS} topic filters on one broker`);
    }
    const { shared, remove } = this.#subscriptions.add(filter, listener, options);
    this.#leftOver.delete(filter);
    const stop = () => {
      if (!remove()) return;
      if (this.#connection?.isConnected) this.#connection.unsubscribe([filter]);
      else this.#leftOver.add(filter);
    };
    try {
      const subscribed = this.#sendSubscribe(connection, shared, false, options.onGranted);
      this.#unclaimed.claim(this.#dispatch);
      await subscribed;
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  /** Of a link that lasts: nothing is read until `resume`, whatever becomes of the connection: the broker keeps or drops what it has for us. */
  pause(): void {
    this.#isPaused = true;
    this.#connection?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#connection?.resume();
  }

  /** Resolves when the broker has answered, and all that it sent before was told. Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT. */
  async ping(): Promise<void> {
    const connection = this.#connection;
    if (!connection?.isConnected) throw unreachable(this.#status);
    await connection.ping();
  }

  async knock(): Promise<string> {
    if (!this.#connection?.isConnected) throw unreachable(this.#status);
    const clientId = `${this.clientId}-probe`;
    const opening = this.#opening();
    await connectOnce({ ...opening, client: { ...opening.client, clientId } });
    return clientId;
  }

  async takeOver(clientId: string, action: SessionAction): Promise<TakenSession> {
    if (!this.#connection?.isConnected) throw unreachable(this.#status);
    const { timeoutMs } = this.#options;
    const options = { address: this.#options, version: this.#version, clientId, timeoutMs, intake: this.#intake };
    return takeOver(options, action);
  }

  #attempt(): void {
    this.#retry = null;
    const { timeoutMs, isBoundedByCaller = false, iterationBatch } = this.#options;
    const received = this.#received;
    try {
      const options = { ...this.#opening(), timeoutMs, received, isBoundedByCaller, iterationBatch };
      const connection = new LinkConnection(options, {
        onConnected: (packet) => this.#connected(connection, packet),
        onMessage: (message, identifiers) => {
          if (this.#dispatch(message, identifiers) || this.#unclaimed.add(message, identifiers)) return;
          this.#unsubscribeUnwanted(message.topic);
        },
        onOver: (failure) => this.#over(connection, failure),
      });
      this.#connection = connection;
    } catch (error) {
      // A certificate or key that OpenSSL cannot read is thrown, not emitted.
      this.#lost(failureOf(error));
    }
  }

  #opening(): SplitClientOptions {
    const { limits = CONTROL_LINK_LIMITS } = this.#options;
    const version = this.#version;
    return { client: this.#clientOptions(version, limits), version, limits, intake: this.#intake };
  }

  #clientOptions(version: 4 | 5, limits: PacketLimits): ConnectOptions {
    const { timeoutMs, isLasting = false, sessionExpirySeconds = 60, receiveMaximum = 65_535 } = this.#options;
    return {
      ...connectOptions(this.#options),
      clientId: this.clientId,
      protocolVersion: version,
      // The table of all two-byte numbers is 65,536 buffers and 7 MB, for one small allocation less per packet.
      writeCache: false,
      protocolId: 'MQTT',
      // A session left by an earlier process is not ours: only what this link made is taken up again.
      clean: !isLasting && (version === 4 || sessionExpirySeconds === 0 || !this.#everConnected),
      keepalive: this.keepaliveSeconds,
      connectTimeout: timeoutMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      timerVariant: 'native',
      ...(version === 5
        ? {
            properties: {
              receiveMaximum,
              maximumPacketSize: largestOf(limits),
              ...(sessionExpirySeconds > 0 ? { sessionExpiryInterval: sessionExpirySeconds } : {}),
            },
          }
        : {}),
    };
  }

  #connected(connection: LinkConnection, { sessionPresent }: IConnackPacket): void {
    this.#versionProven = true;
    this.#attempts = 0;
    if (sessionPresent && this.#options.isLasting) this.#unclaimed.open();
    this.#everConnected = true;
    if (this.#isPaused) connection.pause();
    for (const shared of this.#subscriptions.filters()) {
      shared.isGranted &&= sessionPresent;
      // MQTT 3.1.1 knows no Retain Handling: what the broker keeps would come again.
      if (shared.isGranted && shared.retainedOnce && connection.version === 4) continue;
      this.#sendSubscribe(connection, shared, true).catch((error: unknown) =>
        this.#subscriptions.refused(shared, error),
      );
    }
    this.#setStatus('CONNECTED', undefined, sessionPresent);
    // After what takes their place, so that there is no gap.
    if (this.#connection !== connection) return;
    if (sessionPresent && this.#leftOver.size > 0) connection.unsubscribe([...this.#leftOver]);
    this.#leftOver.clear();
  }

  readonly #dispatch = (message: BrokerMessage, identifiers: number | readonly number[] | undefined): boolean =>
    this.#subscriptions.dispatch(message, identifiers);

  /** An earlier process left a filter in the session, which can only be told from what it matches. */
  #unsubscribeUnwanted(topic: string): void {
    const now = Date.now();
    if (!this.#options.isLasting || now < this.#nextUnsubscribe) return;
    this.#nextUnsubscribe = now + UNWANTED_MS;
    const filters = matchingFilters(topic).filter((filter) => !this.#subscriptions.has(filter));
    if (filters.length > 0) this.#connection?.unsubscribe(filters);
  }

  /** The end of an attempt or of a connection, however it came. */
  #over(connection: LinkConnection, cause: LinkFailure | null): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.#unclaimed.close();
    if (this.#status.state === 'CONNECTED') {
      this.#wasConnected();
      this.#lost(cause ?? disconnected(undefined));
      return;
    }
    const failure = cause ?? { state: 'UNREACHABLE', text: CLOSED_BEFORE_CONNACK };
    const version = this.#version;
    this.#considerVersion(failure, cause === null);
    // The broker is there and said what it wants: that is a step of connecting, not a failure to wait after.
    if (version === 5 && this.#version === 4 && cause !== null) this.#attempt();
    else this.#lost(failure);
  }

  /** A connection has ended just now. */
  #wasConnected(): void {
    this.#downSince = Date.now();
    const isBrief = this.#downSince - this.#status.since < BRIEF_MS;
    this.#attempts = isBrief ? this.#brief : 0;
    this.#brief = isBrief ? this.#brief + 1 : 0;
  }

  /** Brokers without MQTT 5 answer CONNACK 1 or 0x84, or close without a word; the latter proves nothing, so both are tried in turn. */
  #considerVersion({ text }: LinkFailure, silent: boolean): void {
    if (this.#version === 5 && /this version of MQTT/.test(text)) this.#version = 4;
    else if (silent && !this.#versionProven) this.#version = this.#version === 5 ? 4 : 5;
  }

  #lost({ state, text, nobodyListens = false }: LinkFailure): void {
    if (this.#status.state === 'CLOSED') return;
    const pause = retryDelay(this.#attempts, Date.now() - this.#downSince, { nobodyListens });
    this.#attempts += 1;
    this.#retry = setTimeout(() => this.#attempt(), pause);
    this.#setStatus(state, text);
  }

  async #dropConnection(keepSession: boolean): Promise<void> {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
    const connection = this.#connection;
    this.#connection = null;
    const ended = connection?.end(keepSession);
    this.#unclaimed.close();
    await ended?.catch(() => undefined);
  }

  #setStatus(state: LinkState, lastError?: string, resumed?: boolean): void {
    if (this.#status.state === 'CLOSED') return;
    const changed = this.#status.state !== state;
    this.#status = {
      state,
      since: changed ? Date.now() : this.#status.since,
      ...(lastError === undefined ? {} : { lastError }),
      ...(resumed === undefined ? {} : { resumed }),
    };
    if (!changed) return;
    // Who begins to listen meanwhile has seen this status, and who has stopped wants none.
    for (const listener of [...this.#listeners]) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(this.#status);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  #sendSubscribe(
    connection: LinkConnection,
    shared: SharedFilter,
    everybody: boolean,
    onGranted?: () => void,
  ): Promise<void> {
    const number = this.#subscriptions.renumber(shared, everybody);
    return connection.subscribe(shared, number, onGranted).then(() => {
      shared.isGranted = true;
    });
  }
}
