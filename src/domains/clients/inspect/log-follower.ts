import type { ListState } from '../../../protocol/apis/clients/inspect-data.ts';
import type { CapabilityReason } from '../../../protocol/control/capability-reason.ts';
import type { LogLine } from '../../../protocol/mosquitto-log/log-line.ts';
import { LOG_TOPIC, LogReader, VERSION_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { ClientLedger } from './client-ledger.ts';
import { ConnectionCensus } from './connection-census.ts';
import { DisconnectWaiters } from './disconnect-waiters.ts';
import { incompleteReason, unreadReason } from './incomplete-list.ts';
import type { LedgerEvent } from './ledger-events.ts';
import { LogVerification, NO_CONNECTIONS } from './log-verification.ts';

const CONNECTED_COUNT = '$SYS/broker/clients/connected';
const UPTIME = '$SYS/broker/uptime';
export const LOG_FILTERS: readonly string[] = [`${LOG_TOPIC}#`, VERSION_TOPIC, UPTIME, CONNECTED_COUNT];
/** Mosquitto drops log messages of a session that was offline for longer. */
const LINES_STORED_MS = 20_000;

interface LogFollowerOptions {
  readonly lineTimeoutMs: number;
  readonly onChange: (clientid: string) => void;
  readonly onEvent: (event: LedgerEvent) => void;
  /** Called when the number of unknown connections may have changed. */
  readonly onCount: () => void;
  /** Called for a log line that is not understood. */
  readonly onUnread: () => void;
  /** Called when following restarted: clients may have connected unnoticed since this time, in epoch milliseconds. */
  readonly onRestart: (since: number) => void;
}

/**
 * Follows the clients of a plain Mosquitto through its log, `$SYS/broker/log/#` (QoS 1), from the constructor on.
 *
 * Following restarts with an empty list if the broker did not store our session. It also restarts if the link was down
 * for longer than LINES_STORED_MS. If the broker stored the session and restarted, connections from before the loss of
 * the link are removed. A restart is known from the line that the broker logs when it starts (`log_type information`),
 * from an uptime that is lower than before, or with 2.1 from a line about this service's session.
 */
export class LogFollower {
  readonly verification: LogVerification;
  readonly reader = new LogReader();
  readonly ledger: ClientLedger;
  readonly census: ConnectionCensus;
  readonly waiters = new DisconnectWaiters((clientid, connection) => this.ledger.hasEnded(clientid, connection));
  readonly #session: BrokerSession;
  readonly #options: LogFollowerOptions;
  readonly #stops: Stop[] = [];
  #since = Date.now();
  #isProbing = false;
  #uptime = 0;
  #lostAt: number | null = null;
  /** Number of the last connection that was logged before the link was lost. */
  #lastBeforeLoss = 0;
  #subscribed: Promise<void> = Promise.resolve();
  /** Whether the broker granted the subscription once: the link renews it after reconnects. */
  #hasLog = false;
  #isStarted = false;
  #closed = false;

  constructor(session: BrokerSession, options: LogFollowerOptions) {
    this.#session = session;
    this.#options = options;
    this.ledger = new ClientLedger({ onChange: options.onChange, onEvent: options.onEvent });
    this.census = new ConnectionCensus(this.ledger);
    this.verification = new LogVerification(session, options.lineTimeoutMs);
    this.#stops.push(session.onStatus((status) => this.#statusChanged(status)));
    this.#begin();
    this.#subscribeLog();
  }

  /** Returns why clients cannot be followed; `null` if they can. */
  async start(): Promise<CapabilityReason | null> {
    this.#isStarted = true;
    await this.#subscribed;
    await this.#subscribeRest();
    const problem = await this.verification.verify();
    return problem === NO_CONNECTIONS ? (unreadReason(this.reader) ?? problem) : problem;
  }

  get state(): ListState & { readonly complete: boolean; readonly since: number } {
    const { unknown } = this.census;
    const reason = incompleteReason(this);
    return {
      complete: reason === null,
      since: this.#since,
      ...(reason !== null && { incompleteReason: reason }),
      ...(unknown !== null && !this.ledger.hasUnknownStates && { unknownConnections: unknown }),
    };
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.verification.close();
    this.census.close();
    this.waiters.close();
  }

  /** Called first: clients that connect before this subscription remain unknown. */
  #subscribeLog(): void {
    this.#subscribed = this.#subscribe(`${LOG_TOPIC}#`, (message) => this.#logLine(message)).then(() => {
      this.#hasLog = true;
    });
    // `start` reports the error, but may never be called.
    this.#subscribed.catch(() => undefined);
  }

  /** Not before `start`: some brokers send messages for only one of several overlapping filters. */
  async #subscribeRest(): Promise<void> {
    await this.#subscribe(VERSION_TOPIC, ({ payload }) => {
      this.reader.version = textOf(payload);
      this.ledger.version = textOf(payload);
    });
    await this.#subscribeNumber(UPTIME, (seconds, isRetained) => {
      // The broker stopped when the link was lost, or earlier. Times cannot be compared: the broker has its own clock.
      if (seconds < this.#uptime) this.ledger.removeUntil(this.#lastBeforeLoss);
      this.#uptime = seconds;
      if (!isRetained) this.census.uptimeReceived(this.#knownConnections);
    });
    await this.#subscribeNumber(CONNECTED_COUNT, (connected, isRetained) => {
      this.census.countReceived(connected, this.#knownConnections, isRetained);
    });
  }

  #subscribeNumber(filter: string, listener: (value: number, isRetained: boolean) => void): Promise<void> {
    return this.#subscribe(filter, ({ payload, retain }) => {
      const value = Number.parseInt(textOf(payload), 10);
      if (!Number.isSafeInteger(value)) return;
      listener(value, retain);
      this.#options.onCount();
    });
  }

  async #subscribe(filter: string, listener: (message: BrokerMessage) => void): Promise<void> {
    const stop = await this.#session.subscribe(filter, listener, { qos: 1 });
    if (this.#closed) stop();
    else this.#stops.push(stop);
  }

  get #knownConnections(): number {
    return this.ledger.connectedCount + (this.#isProbing ? 1 : 0);
  }

  /** Restarts following: only this service's own connection is known. */
  #begin(): void {
    const session = this.#session;
    this.verification.reset();
    this.#isProbing = false;
    this.ledger.clear();
    this.ledger.addGateway(session.clientId, {
      account: session.username,
      protocol: session.isWebSocket === undefined ? null : session.isWebSocket ? 'MQTT-WS' : 'MQTT',
      protocolVersion: session.protocolVersion === 5 ? 'v5' : session.protocolVersion === 4 ? 'v3.1.1' : null,
      keepalive: session.keepaliveSeconds ?? null,
      lastConnect: Date.parse(session.status.since),
    });
  }

  #restarted(unnoticedSince: number): void {
    this.#since = Date.now();
    this.#options.onRestart(unnoticedSince);
  }

  #logLine({ topic, payload }: BrokerMessage): void {
    this.verification.lineReceived();
    this.census.messageReceived();
    const line = this.reader.read(topic.slice(LOG_TOPIC.length), payload, (id) => this.ledger.has(id));
    if (line.kind === 'UNREAD') this.#options.onUnread();
    if (this.#isOfRestart(line)) this.ledger.removeUntil(this.#lastBeforeLoss);
    if (line.kind === 'SUBSCRIBED') this.ledger.subscriptionsFollowed = true;
    if (line.kind === 'CONNECTED' && this.verification.connectionLogged()) this.#restarted(this.#since);
    if ('clientid' in line && line.clientid === `${this.#session.clientId}-probe`) {
      if (line.kind === 'DISCONNECTED') this.#isProbing = false;
      if (line.kind !== 'CONNECTED') return;
      this.#isProbing = true;
      this.ledger.describeGateway(this.#session.clientId, line);
      return;
    }
    this.census.unknownChanged(this.ledger.apply(line, Date.now()));
    this.#options.onCount();
    if ('clientid' in line) this.waiters.notify(line.clientid);
  }

  /** Mosquitto 2.1 logs that this session was not connected in this process: it was stored by an earlier one. */
  #isOfRestart(line: LogLine): boolean {
    return line.kind === 'DISCONNECTED' && line.clientid === this.#session.clientId && line.address === '(null)';
  }

  #statusChanged({ state, resumed }: LinkStatus): void {
    if (state !== 'CONNECTED') {
      if (this.#lostAt === null) this.#lastBeforeLoss = this.ledger.lastConnection;
      this.#lostAt ??= Date.now();
      return;
    }
    if (!this.#hasLog) this.#subscribeLog();
    const now = Date.now();
    const lostAt = this.#lostAt ?? now;
    this.#lostAt = null;
    if (resumed === true && now - lostAt < LINES_STORED_MS) return;
    this.census.reset();
    this.#begin();
    this.#restarted(lostAt);
    if (this.#isStarted) void this.verification.restart();
  }
}

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
