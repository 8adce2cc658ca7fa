import type { IConnackPacket } from 'mqtt';
import { invalid, ServiceError } from '../../platform/errors.ts';
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
import { connectionAttempts } from './connection-attempts.ts';
import { LinkAttempts } from './link-attempts.ts';
import { LinkConnection, type PublishLimits } from './link-connection.ts';
import { CLOSED_BEFORE_CONNACK, disconnected, failureOf, type LinkFailure } from './link-failure.ts';
import { LinkOpening } from './link-opening.ts';
import { type BrokerLinkOptions, keepaliveOf } from './link-options.ts';
import { StatusOfLink } from './link-status.ts';
import { LinkTakeover } from './link-takeover.ts';
import { matchingFilters } from './matching-filters.ts';
import type { Published } from './outgoing-messages.ts';
import { PacketOrder } from './packet-order.ts';
import { newReadingLimits, type ReadingLimits } from './reading-limits.ts';
import { connectOnce } from './split-client.ts';
import { type MessageListener, type SharedFilter, Subscriptions } from './subscriptions.ts';
import { takeOver } from './take-over.ts';
import { filterProblem, topicProblem } from './topics.ts';
import { UnclaimedMessages } from './unclaimed-messages.ts';
import { unreachable } from './when-connected.ts';

const MAX_FILTERS = 10_000;
const CLAIM_MS = 10_000;
/** Between attempts to unsubscribe filters of an earlier process. */
const UNWANTED_MS = 1_000;

/**
 * One MQTT connection to one broker that reconnects until closed: CONNECTING -> CONNECTED <-> UNREACHABLE /
 * UNAUTHORIZED -> CLOSED.
 *
 * Every attempt is a new client: a publish that cannot be sent fails immediately, and the caller decides whether to
 * retry. Subscriptions are restored before CONNECTED is reported. MQTT 5 is tried first, and 3.1.1 after the broker has
 * refused it. With MQTT 5 the session lasts 60 s without a connection, so that a short interruption loses no message of
 * QoS 1 and 2 (`status.resumed`). A client that takes over the client id of a link without a lasting session cuts it
 * once or twice: the link then connects with another client id.
 *
 * Bounds: MAX_FILTERS filters; input within `limits` and `readingLimits`; output within OutgoingMessages or the
 * caller's bounds. What exceeds a bound is refused, never dropped silently. Errors: see BrokerSession; INVALID for
 * invalid topics, filters and settings.
 */
export class BrokerLink implements BrokerSession {
  readonly #options: BrokerLinkOptions;
  readonly #opening: LinkOpening;
  readonly #readingLimits: ReadingLimits;
  readonly #subscriptions: Subscriptions;
  readonly #unclaimed: UnclaimedMessages;
  readonly #session: { readonly received: Set<number> | null; readonly order: PacketOrder };
  /** Filters without a listener that the session may still have. */
  readonly #leftOver: Set<string>;
  #nextUnsubscribe = 0;
  readonly #onFault: (error: unknown) => void;
  readonly #status: StatusOfLink;
  #connection: LinkConnection | null = null;
  #isPaused = false;
  readonly #attempts: LinkAttempts;
  /** Whether the session of the connection before had ended when this one began. */
  #hasLostSession = false;
  readonly #takeover = new LinkTakeover();

  constructor(options: BrokerLinkOptions) {
    const { isLasting = false, isClaimedByTopic = false, leftOver = [], claimMs = CLAIM_MS } = options;
    this.#options = options;
    this.#readingLimits = options.readingLimits ?? newReadingLimits();
    this.#onFault = options.onFault ?? (() => undefined);
    this.#opening = new LinkOpening(options, this.#readingLimits);
    this.#status = new StatusOfLink(this.#onFault);
    this.#leftOver = new Set(leftOver);
    const onStray = isClaimedByTopic ? (topic: string) => this.#unsubscribeUnwanted(topic) : undefined;
    this.#subscriptions = new Subscriptions(this.#onFault, { isLasting, onStray });
    this.#unclaimed = new UnclaimedMessages(claimMs);
    this.#session = { received: isLasting ? new Set() : null, order: new PacketOrder() };
    this.#attempts = new LinkAttempts(options.group ?? '', () => this.#attempt());
  }

  get status(): LinkStatus {
    return this.#status.current;
  }

  get clientId(): string {
    return this.#opening.clientId;
  }

  get username(): string | null {
    return this.#opening.endpoint.username ?? null;
  }

  get isWebSocket(): boolean {
    return this.#opening.endpoint.protocol?.startsWith('ws') === true;
  }

  get keepaliveSeconds(): number {
    return keepaliveOf(this.#options);
  }

  get protocolVersion(): 4 | 5 | null {
    return this.#connection?.isConnected ? this.#connection.version : null;
  }

  /** `null` while not connected. Beyond the limits, QoS and RETAIN of messages are reduced. */
  get publishing(): PublishLimits | null {
    return this.#connection?.isConnected ? this.#connection.publishing : null;
  }

  /** Starts the first attempt; further calls do nothing. Errors: INVALID settings. */
  open(): void {
    if (this.#connection || this.#attempts.isPending || this.status.state === 'CLOSED') return;
    // Errors of the settings are those of the caller.
    void this.#opening.endpoint;
    this.#attempts.queue();
  }

  /** A caller waits for the connection: the next attempt starts before those of other links. */
  hurry(): void {
    if (this.status.state === 'CONNECTED') return;
    this.#attempts.hurry();
  }

  /**
   * Starts the next attempt now instead of after the backoff, at most every half a second. Resolves when this attempt,
   * or a current one, has ended; `status` has its result. Callers at the same time share it. Never rejects.
   */
  async tryNow(): Promise<void> {
    if (this.status.state === 'CONNECTED' || (!this.#connection && !this.#attempts.isPending)) return;
    this.hurry();
    this.#attempts.retrySoon();
    await this.#status.next();
  }

  suspend(reason: string): void {
    if (this.status.state === 'CLOSED') return;
    void this.#dropConnection(true);
    this.#attempts.succeeded();
    this.#setStatus('UNREACHABLE', { lastError: reason });
  }

  restart(reason: string): void {
    if (!this.#connection) return;
    void this.#dropConnection(true);
    this.#attempts.lost(Date.now() - Date.parse(this.status.since));
    this.#lost({ state: 'UNREACHABLE', text: reason, isSilent: true });
  }

  /**
   * Safe to call twice. Resolves within half a second. With `keepSession` the broker retains the unacknowledged
   * messages of a lasting session. Otherwise the link ends the session, with one attempt.
   */
  async close({ keepSession = false } = {}): Promise<void> {
    if (this.status.state === 'CLOSED') return;
    const wasConnected = this.#connection?.isConnected === true;
    const dropped = this.#dropConnection(keepSession);
    this.#setStatus('CLOSED');
    this.#status.forgetListeners();
    await dropped;
    // A DISCONNECT of MQTT 5 has ended the session already.
    if (!this.#options.isLasting || keepSession || (wasConnected && this.#opening.version.current === 5)) return;
    await this.#inTurn(() => connectOnce(this.#opening.next())).catch(() => undefined);
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    return this.#status.on(listener);
  }

  publish(topic: string, payload: Uint8Array | string, options: PublishOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(topic, payload, options, (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Like `send`, for callers that send unacknowledged messages again after a reconnect: without an acknowledgement in
   * time the link reconnects, and the error is BROKER_UNREACHABLE with a cause.
   */
  sendAgain(topic: string, payload: Uint8Array | string, options: PublishOptions, done: Published): void {
    this.send(topic, payload, options, (error) => {
      if (error?.code !== 'BROKER_TIMEOUT') {
        done(error);
        return;
      }
      done(new ServiceError('BROKER_UNREACHABLE', error.message, { cause: error }));
      this.restart(error.message);
    });
  }

  /** Publishes at lower cost. `done` is called once, possibly immediately. The payload must not change until then. */
  send(topic: string, payload: Uint8Array | string, options: PublishOptions, done: Published): void {
    const { qos = 0, retain = false, properties } = options;
    const connection = this.#connection;
    const problem = topicProblem(topic);
    if (!connection?.isConnected) done(unreachable(this.status));
    else if (problem) done(invalid([{ path: '/topic', reason: problem }]));
    else connection.publish({ topic, payload, qos, retain, properties }, done);
  }

  async subscribe(filter: string, listener: MessageListener, options: SubscribeOptions = {}): Promise<Stop> {
    const connection = this.#connection;
    if (!connection?.isConnected) throw unreachable(this.status);
    const problem = filterProblem(filter);
    if (problem) throw invalid([{ path: '/filter', reason: problem }]);
    if (this.#subscriptions.size >= MAX_FILTERS && !this.#subscriptions.has(filter)) {
      throw new ServiceError('TOO_LARGE', `More than ${MAX_FILTERS} topic filters on one broker`);
    }
    const [shared, subscriber] = this.#subscriptions.add(filter, listener, options);
    this.#leftOver.delete(filter);
    const stop = () => {
      if (!this.#subscriptions.remove(shared, subscriber)) return;
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

  /** Stops reading until `resume`, also after a reconnect. Meanwhile the broker queues messages. */
  pause(): void {
    this.#isPaused = true;
    this.#connection?.pause();
    if (this.status.state === 'CONNECTED') this.#attempts.endTurn();
  }

  resume(): void {
    this.#isPaused = false;
    this.#connection?.resume();
  }

  /** Resolves with PINGRESP, after all earlier messages were reported. Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT. */
  async ping(): Promise<void> {
    const connection = this.#connection;
    if (!connection?.isConnected) throw unreachable(this.status);
    await connection.ping();
  }

  async knock(): Promise<string> {
    if (!this.#connection?.isConnected) throw unreachable(this.status);
    const clientId = `${this.clientId}-probe`;
    const opening = this.#opening.next();
    await this.#inTurn(() => connectOnce({ ...opening, client: { ...opening.client, clientId } }));
    return clientId;
  }

  async takeOver(clientId: string, action: SessionAction): Promise<TakenSession> {
    if (!this.#connection?.isConnected) throw unreachable(this.status);
    const { timeoutMs } = this.#options;
    const options = {
      address: this.#options,
      version: this.#opening.version.current,
      clientId,
      timeoutMs,
      readingLimits: this.#readingLimits,
    };
    return this.#inTurn(() => takeOver(options, action));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return connectionAttempts.run(this.#options.group ?? '', work);
  }

  noteTakeover(address: string | null): void {
    this.#takeover.note(address);
  }

  explainTakeovers(addressOf: () => string | null): void {
    this.#takeover.addressOf = addressOf;
  }

  #attempt(): void {
    this.#takeover.clear();
    const { timeoutMs, isBoundedByCaller = false, iterationBatch } = this.#options;
    try {
      const options = { ...this.#opening.next(), ...this.#session, timeoutMs, isBoundedByCaller, iterationBatch };
      const connection = new LinkConnection(options, {
        onConnected: (packet) => this.#connected(connection, packet),
        onMessage: (message, identifiers) => {
          if (this.#dispatch(message, identifiers) || this.#unclaimed.add(message, identifiers)) return;
          this.#unsubscribeUnwanted(message.topic);
        },
        onOver: (failure) => this.#handleEnd(connection, failure),
      });
      this.#connection = connection;
    } catch (error) {
      // OpenSSL throws if it cannot read a certificate or key.
      this.#lost(failureOf(error));
    }
  }

  #connected(connection: LinkConnection, { sessionPresent }: IConnackPacket): void {
    this.#opening.version.isProven = true;
    this.#attempts.succeeded();
    if (sessionPresent && this.#options.isLasting) this.#unclaimed.open();
    this.#hasLostSession = this.#opening.hasConnected && !sessionPresent;
    this.#opening.hasConnected = true;
    if (this.#isPaused) connection.pause();
    for (const shared of this.#subscriptions.filters()) {
      shared.isGranted &&= sessionPresent;
      // MQTT 3.1.1 has no Retain Handling: the broker would send the retained messages again.
      if (shared.isGranted && shared.options.retainedOnce && connection.version === 4) continue;
      this.#sendSubscribe(connection, shared, true).catch((error: unknown) =>
        this.#subscriptions.refused(shared, error),
      );
    }
    this.#setStatus('CONNECTED', { resumed: sessionPresent });
    // After the new filters, which may cover the same topics: so no message is lost between.
    if (this.#connection !== connection) return;
    if (sessionPresent && this.#leftOver.size > 0) connection.unsubscribe([...this.#leftOver]);
    this.#leftOver.clear();
    void this.#settle(connection);
  }

  /** Other links wait until the broker has responded to what was sent at CONNECTED: subscriptions and commands. */
  async #settle(connection: LinkConnection): Promise<void> {
    const { turn } = this.#attempts;
    if (connectionAttempts.hasWaiting && !this.#isPaused) await connection.ping().catch(() => undefined);
    if (turn !== null && turn === this.#attempts.turn) this.#attempts.endTurn();
  }

  readonly #dispatch = (message: BrokerMessage, identifiers: number | readonly number[] | undefined): boolean =>
    this.#subscriptions.dispatch(message, identifiers);

  /** Unsubscribes filters of an earlier process. They are only known by the topics that they match. */
  #unsubscribeUnwanted(topic: string): void {
    const now = Date.now();
    if (!this.#options.isLasting || now < this.#nextUnsubscribe) return;
    this.#nextUnsubscribe = now + UNWANTED_MS;
    const filters = matchingFilters(topic).filter((filter) => !this.#subscriptions.has(filter));
    if (filters.length > 0) this.#connection?.unsubscribe(filters);
  }

  #handleEnd(connection: LinkConnection, failure: LinkFailure | null): void {
    if (this.#connection !== connection) return;
    const cause = this.#takeover.causeOf(failure);
    this.#connection = null;
    this.#unclaimed.close();
    if (this.status.state === 'CONNECTED') {
      this.#attempts.lost(Date.now() - Date.parse(this.status.since));
      // Mosquitto 2.0.11 closes a connection that was taken over without a reason. Acknowledgements reset it.
      const isClosed = cause === null || cause.isReset === true;
      const isCutAgain = isClosed && this.#attempts.wasBrief && this.#hasLostSession;
      if (cause?.isTakenOver || isCutAgain) this.#opening.changeClientId();
      this.#lost(cause ?? disconnected(undefined));
      return;
    }
    const refusal = cause ?? { state: 'UNREACHABLE', text: CLOSED_BEFORE_CONNACK };
    // The broker named the version as the reason, so the next version is tried without a delay.
    if (this.#opening.version.refused(refusal, cause === null)) this.#attempt();
    else this.#lost(refusal);
  }

  #lost({ state, text, isPortClosed = false, isSilent = false }: LinkFailure): void {
    if (this.status.state === 'CLOSED') return;
    this.#attempts.retryLater(isPortClosed && this.#opening.hasConnected);
    this.#setStatus(state, { lastError: text, wasSilent: isSilent });
    this.#attempts.endTurn();
  }

  async #dropConnection(keepSession: boolean): Promise<void> {
    this.#attempts.cancel();
    const connection = this.#connection;
    this.#connection = null;
    const ended = connection?.end(keepSession);
    this.#unclaimed.close();
    this.#attempts.endTurn();
    await ended?.catch(() => undefined);
  }

  #setStatus(state: LinkState, about?: Pick<LinkStatus, 'lastError' | 'resumed' | 'wasSilent'>): void {
    if (this.status.state === 'CLOSED') return;
    if (state === 'CONNECTED' || state === 'CLOSED') this.#attempts.forget();
    this.#status.set(state, about);
  }

  #sendSubscribe(
    connection: LinkConnection,
    shared: SharedFilter,
    isReconnect: boolean,
    onGranted?: () => void,
  ): Promise<void> {
    const number = this.#subscriptions.renumber(shared, isReconnect);
    return connection.subscribe(shared, number, onGranted).then(() => {
      shared.isGranted = true;
    });
  }
}
