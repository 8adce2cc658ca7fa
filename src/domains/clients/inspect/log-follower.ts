import { LATE_EVENT_MS } from '../../../protocol/apis/clients/client-events.ts';
import type { ListState } from '../../../protocol/apis/clients/inspect-data.ts';
import type { CapabilityReason } from '../../../protocol/control/capability-reason.ts';
import type { LogLine } from '../../../protocol/mosquitto-log/log-line.ts';
import { LOG_TOPIC, LogReader, VERSION_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { ClientLedger } from './client-ledger.ts';
import { ConnectionCensus } from './connection-census.ts';
import { DisconnectWaiters } from './disconnect-waiters.ts';
import { EarlyLines } from './early-lines.ts';
import { incompleteReason, unreadReason } from './incomplete-list.ts';
import { DROPPED, type LedgerEvent, NOT_RECEIVED, timeOf } from './ledger-events.ts';
import { LogVerification, NO_CONNECTIONS } from './log-verification.ts';

const CONNECTED_COUNT = '$SYS/broker/clients/connected';
const UPTIME = '$SYS/broker/uptime';
export const LOG_FILTERS: readonly string[] = [`${LOG_TOPIC}#`, VERSION_TOPIC, UPTIME, CONNECTED_COUNT];
/** Mosquitto drops log messages of a session that was offline for longer. */
const LINES_STORED_MS = 20_000;
/** Interval in which dropped lines are coalesced into one gap. */
const COALESCE_MS = 1_000;

interface LogFollowerOptions {
  readonly lineTimeoutMs: number;
  readonly onChange: (clientid: string) => void;
  readonly onEvent: (event: LedgerEvent) => void;
  /** Called when the number of unknown connections may have changed. */
  readonly onCount: () => void;
  /** Called for a log line that is not understood. */
  readonly onUnread: () => void;
  /** Called when following restarted: the clients are other ones. */
  readonly onRestart: () => void;
}

/**
 * Follows the clients of a plain Mosquitto through its log, `$SYS/broker/log/#` (QoS 1), from the constructor on. Lines
 * that arrive before the version of the broker wait for it, because the same words differ in meaning between versions.
 *
 * Following restarts with an empty list if the broker did not store our session. It also restarts if the link was down
 * for longer than LINES_STORED_MS. If the broker stored the session and restarted, connections from before the loss of
 * the link are removed. A restart is known from the line that the broker logs when it starts (`log_type information`),
 * from an uptime that is lower than before, or with 2.1 from a line about this service's session.
 *
 * It also restarts if the broker has dropped lines because their queue was full, as it does not report which ones.
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
  /** Since when the log is received without a gap, or is about to be received. */
  #since = Date.now();
  #isProbing = false;
  #uptime = 0;
  #lostAt: number | null = null;
  /** When the last message arrived. */
  #heardAt = Date.now();
  /** When the event of the last line was, in epoch milliseconds; `null` if the line has no time. */
  #lineAt: number | null = null;
  /** The delay of lines since the log is received, in milliseconds. The shortest one is that of the broker's clock. */
  #delay: { readonly shortest: number; readonly last: number } | null = null;
  /** `gapsBefore` of the last message. */
  #gaps: number | null = null;
  /** Since when lines were dropped that are in no gap yet. */
  #droppedSince: number | null = null;
  #dropTimer: NodeJS.Timeout | null = null;
  /** Number of the last connection that was logged before the link was lost. */
  #lastBeforeLoss = 0;
  #subscribed: Promise<void> = Promise.resolve();
  /** Whether the broker granted the subscription once: the link renews it after reconnects. */
  #hasLog = false;
  /** Whether the broker granted it on this connection, or resumed the session. */
  #isReceiving = false;
  readonly #early = new EarlyLines((message, at) => this.#readLine(message, at));
  #isStarted = false;
  #closed = false;

  constructor(session: BrokerSession, options: LogFollowerOptions) {
    this.#session = session;
    this.#options = options;
    const { onChange, onEvent } = options;
    this.ledger = new ClientLedger({ onChange, onEvent, mayHaveOthers: () => this.census.unknown !== 0 });
    this.census = new ConnectionCensus(this.ledger);
    this.verification = new LogVerification(session, options.lineTimeoutMs, () => this.#granted());
    this.#stops.push(session.onStatus((status) => this.#statusChanged(status)));
    this.#begin();
    this.#subscribeLog();
  }

  /** Returns why clients cannot be followed; `null` if they can. */
  async start(): Promise<CapabilityReason | null> {
    this.#isStarted = true;
    await this.#subscribed;
    await this.#subscribeRest();
    // After a reconnect meanwhile.
    this.#granted();
    // A broker without a version has lines, too.
    const late = setTimeout(() => this.#early.release(), this.#options.lineTimeoutMs / 2);
    const problem = await this.verification.verify().finally(() => clearTimeout(late));
    this.#early.release();
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
    if (this.#dropTimer) clearTimeout(this.#dropTimer);
    for (const stop of this.#stops.splice(0)) stop();
    this.verification.close();
    this.census.close();
    this.waiters.close();
  }

  /** Called first: clients that connect before this subscription remain unknown. */
  #subscribeLog(): void {
    this.#subscribed = this.#subscribe(`${LOG_TOPIC}#`, (message) => this.#logLine(message)).then(() =>
      this.#granted(),
    );
    // `start` reports the error, but may never be called.
    this.#subscribed.catch(() => undefined);
  }

  /** Not before `start`: some brokers send messages for only one of several overlapping filters. */
  async #subscribeRest(): Promise<void> {
    await this.#subscribe(VERSION_TOPIC, ({ payload }) => {
      this.reader.version = textOf(payload);
      this.ledger.version = textOf(payload);
      this.#early.release();
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
      // The broker sends a version before it, or has none.
      this.#early.release();
      listener(value, retain);
      this.#options.onCount();
    });
  }

  async #subscribe(filter: string, listener: (message: BrokerMessage) => void): Promise<void> {
    const heard = (message: BrokerMessage) => {
      this.#heardAt = Date.now();
      const { gapsBefore = 0 } = message;
      if (this.#gaps !== null && gapsBefore > this.#gaps) this.#linesDropped();
      this.#gaps = gapsBefore;
      if (!message.isRepeated) listener(message);
    };
    const stop = await this.#session.subscribe(filter, heard, { qos: 1 });
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

  #linesDropped(): void {
    this.#early.readWaiting();
    this.census.reset();
    this.#begin();
    this.#droppedSince ??= this.#lineAt === null ? this.#since : this.#lineAt - LATE_EVENT_MS;
    this.#since = Date.now();
    this.#dropTimer ??= setTimeout(() => this.reportDropped(), COALESCE_MS).unref();
    this.#options.onRestart();
  }

  /** Reports dropped lines before a reader takes the events, because its record is complete until then. */
  reportDropped(): void {
    if (this.#droppedSince === null) return;
    if (this.#dropTimer) clearTimeout(this.#dropTimer);
    const from = Math.min(this.#droppedSince, this.#since);
    this.#droppedSince = null;
    this.#dropTimer = null;
    this.#options.onEvent({ kind: 'GAP', from, at: this.#since, detail: DROPPED });
  }

  /** The log is received from now on. */
  #granted(): void {
    if (this.#isReceiving) return;
    this.#isReceiving = true;
    if (this.#hasLog) this.#missed(this.#since);
    else this.#since = Date.now();
    this.#hasLog = true;
  }

  /** Events may be missing since `from`, in epoch milliseconds. */
  #missed(from: number): void {
    this.#since = Date.now();
    this.#options.onEvent({ kind: 'GAP', from, at: this.#since, detail: NOT_RECEIVED });
  }

  #restarted(from: number): void {
    this.#missed(from);
    this.#options.onRestart();
  }

  #logLine(message: BrokerMessage): void {
    this.verification.lineReceived();
    this.census.messageReceived();
    this.#granted();
    this.#early.read(message);
  }

  #readLine({ topic, payload }: BrokerMessage, at: number): void {
    const line = this.reader.read(topic.slice(LOG_TOPIC.length), payload, (id) => this.ledger.has(id));
    this.#lineAt = line.at === null ? null : timeOf(line, at);
    if (line.at !== null) {
      const last = at - line.at;
      this.#delay = { last, shortest: Math.min(last, this.#delay?.shortest ?? last) };
    }
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
    this.census.unknownChanged(this.ledger.apply(line, at));
    this.#options.onCount();
    if ('clientid' in line) this.waiters.notify(line.clientid);
  }

  /** Mosquitto 2.1 logs that this session was not connected in this process: it was stored by an earlier one. */
  #isOfRestart(line: LogLine): boolean {
    return line.kind === 'DISCONNECTED' && line.clientid === this.#session.clientId && line.address === '(null)';
  }

  /** How long lines waited in the broker: if it ends, it loses those that wait. */
  get behindMs(): number {
    return this.#delay === null ? 0 : this.#delay.last - this.#delay.shortest;
  }

  /** For how long the lost connection may have been dead: at most until the last message. */
  #unheardMs(wasSilent: boolean | undefined): number {
    if (wasSilent !== true) return 0;
    const { keepaliveSeconds = 0 } = this.#session;
    return Math.min(Date.now() - this.#heardAt, keepaliveSeconds * 1_500);
  }

  #statusChanged({ state, resumed, wasSilent }: LinkStatus): void {
    if (state !== 'CONNECTED') {
      if (this.#lostAt === null) this.#lastBeforeLoss = this.ledger.lastConnection;
      this.#lostAt ??= Date.now() - this.#unheardMs(wasSilent);
      return;
    }
    if (!this.#hasLog) this.#subscribeLog();
    const now = Date.now();
    const lostAt = this.#lostAt ?? now;
    this.#lostAt = null;
    if (resumed === true && this.#isReceiving && now - lostAt < LINES_STORED_MS) return;
    this.#early.readWaiting();
    this.census.reset();
    this.#begin();
    const from = this.#isReceiving ? Math.max(lostAt - this.behindMs, this.#since) - LATE_EVENT_MS : this.#since;
    this.#isReceiving = false;
    this.#delay = null;
    if (this.#hasLog) this.#restarted(from);
    if (this.#isStarted) void this.verification.restart();
  }
}

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
