import { randomBytes } from 'node:crypto';
import { connect, type IClientOptions, type IConnackPacket, type MqttClient } from 'mqtt';
import { invalid, ServiceError } from '../errors.ts';
import type {
  BrokerSession,
  LinkState,
  LinkStatus,
  PublishOptions,
  SessionAction,
  Stop,
  SubscribeOptions,
  TakenSession,
} from './broker-session.ts';
import { type BrokerAddress, connectOptions } from './connect-options.ts';
import { endClient } from './end-client.ts';
import { CLOSED_BEFORE_CONNACK, disconnected, failureOf, type LinkFailure } from './link-failure.ts';
import { publishRefusal, subscribeRefusal } from './refused-packet.ts';
import { retryDelay } from './retry-delay.ts';
import { type MessageListener, type SharedFilter, Subscriptions } from './subscriptions.ts';
import { takeOver } from './take-over.ts';
import { filterProblem, topicProblem } from './topics.ts';
import { unreachable } from './when-connected.ts';

/**
 * One MQTT connection to one broker, kept up until closed: CONNECTING -> CONNECTED <-> UNREACHABLE / UNAUTHORISED -> CLOSED.
 *
 * Every attempt is a fresh mqtt.js client that never reconnects by itself, so nothing of a lost connection (queued packets,
 * unacknowledged publishes) goes out later: a publish that cannot go out fails now, and the caller decides what to keep.
 * Subscriptions are kept here and made again before the link is told to be CONNECTED. MQTT 5 is tried first and 3.1.1 from
 * then on when the broker refuses 5. With MQTT 5 the broker is asked to keep the session for a minute, so that a short
 * interruption loses no message of QoS 1 and 2; `status.resumed` says whether it did.
 *
 * Bounds: MAX_FILTERS filters; MAX_IN_FLIGHT publishes without answer; MAX_UNSENT_BYTES that the broker has not read yet. More are
 * refused, nothing is dropped silently.
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
  /** A listener threw: a bug, which must not take the others' messages. */
  readonly onFault?: (error: unknown) => void;
}

const KEEPALIVE_SECONDS = 15;
const MAX_FILTERS = 10_000;
const MAX_IN_FLIGHT = 10_000;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
const MAX_PACKET_BYTES = 64 * 1024 * 1024;

/** An attempt, and the connection that came of it. */
interface Connection {
  readonly client: MqttClient;
  readonly version: 4 | 5;
  connected: boolean;
  identifiers: boolean;
  failure: LinkFailure | null;
  over: boolean;
  /** Rejects everything that waits for an answer on this connection. */
  readonly waiting: Set<(error: ServiceError) => void>;
}

export class BrokerLink implements BrokerSession {
  readonly clientId: string;
  #options: BrokerLinkOptions;
  readonly #subscriptions: Subscriptions;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  readonly #onFault: (error: unknown) => void;
  #status: LinkStatus = { state: 'CONNECTING', since: Date.now() };
  #connection: Connection | null = null;
  #retry: NodeJS.Timeout | null = null;
  #attempts = 0;
  #downSince = Date.now();
  #version: 4 | 5 = 5;
  /** The broker has answered a CONNECT of this version, so a silent refusal is no reason to try the other. */
  #versionProven = false;
  #everConnected = false;

  constructor(options: BrokerLinkOptions) {
    this.#options = options;
    this.#onFault = options.onFault ?? (() => undefined);
    this.clientId = options.clientId ?? `brokergraph-${options.id}-${randomBytes(4).toString('hex')}`;
    this.#subscriptions = new Subscriptions(this.#onFault);
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
    return this.#connection?.connected ? this.#connection.version : null;
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
    this.#version = 5;
    this.#versionProven = false;
    this.#everConnected = false;
    this.#dropConnection();
    this.#setStatus('CONNECTING');
    this.#downSince = Date.now();
    this.#attempts = 0;
    this.#attempt();
  }

  /** Safe to call twice. Resolves when the socket is gone, within half a second. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#dropConnection();
    this.#setStatus('CLOSED');
    this.#listeners.clear();
    if (connection) await endClient(connection.client);
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(
    topic: string,
    payload: Uint8Array | string,
    { qos = 0, retain = false }: PublishOptions = {},
  ): Promise<void> {
    const connection = this.#connection;
    if (!connection?.connected) return Promise.reject(unreachable(this.#status));
    const problem = topicProblem(topic);
    if (problem) return Promise.reject(invalid([{ path: '/topic', reason: problem }]));
    if (connection.waiting.size >= MAX_IN_FLIGHT || connection.client.stream.writableLength > MAX_UNSENT_BYTES) {
      return Promise.reject(
        new ServiceError('BROKER_TIMEOUT', 'The broker does not keep up: too much waits to be sent'),
      );
    }
    const bytes =
      typeof payload === 'string' ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.length);
    return this.#answered(connection, (settle) => {
      connection.client.publish(topic, bytes, { qos, retain }, (error) => settle(error ? publishRefusal(error) : null));
    });
  }

  async subscribe(filter: string, listener: MessageListener, options: SubscribeOptions = {}): Promise<Stop> {
    const connection = this.#connection;
    if (!connection?.connected) throw unreachable(this.#status);
    const problem = filterProblem(filter);
    if (problem) throw invalid([{ path: '/filter', reason: problem }]);
    if (this.#subscriptions.size >= MAX_FILTERS && !this.#subscriptions.has(filter)) {
      throw new ServiceError('TOO_LARGE', `More than ${MAX_FILTERS} topic filters on one broker`);
    }
    const { shared, remove } = this.#subscriptions.add(filter, listener, options);
    const stop = () => {
      if (remove()) this.#unsubscribe(filter);
    };
    try {
      await this.#sendSubscribe(connection, shared, false);
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  async knock(): Promise<string> {
    if (!this.#connection?.connected) throw unreachable(this.#status);
    const clientId = `${this.clientId}-probe`;
    const options = { ...this.#clientOptions(this.#version), clientId, clean: true };
    delete options.properties;
    const client = connect(options);
    try {
      await new Promise<void>((resolve, reject) => {
        client.once('connect', () => resolve());
        client.on('error', reject);
        client.once('close', () => reject(new Error('closed')));
      });
    } catch (error) {
      throw new ServiceError('BROKER_UNREACHABLE', failureOf(error).text, { cause: error });
    } finally {
      await endClient(client);
    }
    return clientId;
  }

  async takeOver(clientId: string, action: SessionAction): Promise<TakenSession> {
    if (!this.#connection?.connected) throw unreachable(this.#status);
    const { timeoutMs } = this.#options;
    return takeOver({ address: this.#options, version: this.#version, clientId, timeoutMs }, action);
  }

  #attempt(): void {
    this.#retry = null;
    const version = this.#version;
    let client: MqttClient;
    try {
      client = connect(this.#clientOptions(version));
    } catch (error) {
      // A certificate or key that OpenSSL cannot read is thrown, not emitted.
      this.#lost(failureOf(error));
      return;
    }
    const connection: Connection = {
      client,
      version,
      connected: false,
      identifiers: version === 5,
      failure: null,
      over: false,
      waiting: new Set(),
    };
    this.#connection = connection;
    const { stream } = client;
    // One listener per publish waits for a full buffer to drain; their number is bounded by MAX_IN_FLIGHT.
    stream.setMaxListeners(0);
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true);
    const fail = (error: unknown) => {
      connection.failure ??= failureOf(error);
      this.#over(connection);
    };
    stream.on('error', fail);
    client.on('error', fail);
    client.on('disconnect', ({ reasonCode }) => {
      connection.failure ??= disconnected(reasonCode);
    });
    client.on('message', (topic, payload, { qos, retain, properties }) => {
      if (connection.over) return;
      this.#subscriptions.dispatch({ topic, payload, qos, retain }, properties?.subscriptionIdentifier);
    });
    client.on('connect', (packet) => this.#connected(connection, packet));
    client.on('close', () => this.#over(connection));
  }

  #clientOptions(version: 4 | 5): IClientOptions {
    const { timeoutMs, sessionExpirySeconds = 60 } = this.#options;
    return {
      ...connectOptions(this.#options),
      clientId: this.clientId,
      protocolVersion: version,
      // The table of all two-byte numbers is 65,536 buffers and 7 MB, for one small allocation less per packet.
      writeCache: false,
      protocolId: 'MQTT',
      // A session left by an earlier process is not ours: only what this link made is taken up again.
      clean: version === 4 || sessionExpirySeconds === 0 || !this.#everConnected,
      keepalive: this.keepaliveSeconds,
      connectTimeout: timeoutMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      timerVariant: 'native',
      ...(version === 5
        ? {
            properties: {
              receiveMaximum: 65_535,
              maximumPacketSize: MAX_PACKET_BYTES,
              ...(sessionExpirySeconds > 0 ? { sessionExpiryInterval: sessionExpirySeconds } : {}),
            },
          }
        : {}),
    };
  }

  #connected(connection: Connection, packet: IConnackPacket): void {
    if (connection.over) return;
    connection.connected = true;
    connection.identifiers &&= packet.properties?.subscriptionIdentifiersAvailable !== false;
    this.#versionProven = true;
    this.#everConnected = true;
    this.#attempts = 0;
    for (const shared of this.#subscriptions.filters()) {
      this.#sendSubscribe(connection, shared, true).catch((error: unknown) =>
        this.#subscriptions.refused(shared, error),
      );
    }
    this.#setStatus('CONNECTED', undefined, packet.sessionPresent);
  }

  /** The end of an attempt or of a connection, however it came. */
  #over(connection: Connection): void {
    if (connection.over) return;
    const wasConnected = connection.connected;
    this.#discard(connection);
    if (this.#connection !== connection) return;
    this.#connection = null;
    if (wasConnected) {
      this.#downSince = Date.now();
      this.#lost(connection.failure ?? disconnected(undefined));
      return;
    }
    const failure = connection.failure ?? { state: 'UNREACHABLE', text: CLOSED_BEFORE_CONNACK };
    const version = this.#version;
    this.#considerVersion(failure, connection.failure === null);
    // The broker is there and said what it wants: that is a step of connecting, not a failure to wait after.
    if (version === 5 && this.#version === 4 && connection.failure !== null) this.#attempt();
    else this.#lost(failure);
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

  #dropConnection(): void {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
    const connection = this.#connection;
    this.#connection = null;
    if (connection) this.#discard(connection);
  }

  #discard(connection: Connection): void {
    connection.over = true;
    connection.connected = false;
    const gone = unreachable({
      ...this.#status,
      state: 'UNREACHABLE',
      lastError: 'The connection to the broker was lost',
    });
    for (const reject of connection.waiting) reject(gone);
    connection.waiting.clear();
    endClient(connection.client).catch(() => undefined);
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

  #sendSubscribe(connection: Connection, shared: SharedFilter, everybody: boolean): Promise<void> {
    const number = this.#subscriptions.renumber(shared, everybody);
    const options = {
      qos: shared.qos,
      ...(connection.identifiers ? { properties: { subscriptionIdentifier: number } } : {}),
    };
    return this.#answered(connection, (settle) => {
      connection.client.subscribe(shared.filter, options, (error) => settle(error ? subscribeRefusal(error) : null));
    });
  }

  #unsubscribe(filter: string): void {
    const connection = this.#connection;
    if (!connection?.connected) return;
    connection.client.unsubscribe(filter, () => undefined);
  }

  /** Settles with the broker's answer, the end of the connection, or the time-out, whichever comes first. */
  #answered(connection: Connection, send: (settle: (error: ServiceError | null) => void) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      let timer: NodeJS.Timeout | null = null;
      let settled = false;
      const settle = (error: ServiceError | null) => {
        if (settled) return;
        settled = true;
        if (timer) clearTimeout(timer);
        connection.waiting.delete(settle);
        if (error) reject(error);
        else resolve();
      };
      send(settle);
      if (settled) return;
      const { timeoutMs } = this.#options;
      connection.waiting.add(settle);
      timer = setTimeout(() => {
        settle(new ServiceError('BROKER_TIMEOUT', `The broker sent no acknowledgement in ${timeoutMs} ms`));
      }, timeoutMs);
    });
  }
}
