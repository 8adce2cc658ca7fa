import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import type { Fields } from '../../../protocol/control/fields.ts';
import {
  type BegunPlugin,
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
  type PluginHost,
  type Unavailable,
} from '../../../protocol/control/plugin.ts';
import type { BrokerMessage, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { unreachable } from '../../../protocol/mqtt/when-connected.ts';
import { clientIdOf } from './client-key.ts';
import { ClientLedger } from './client-ledger.ts';
import { ConnectionCensus } from './connection-census.ts';
import { DisconnectWaiters } from './disconnect-waiters.ts';
import type { FollowedClient } from './followed-account.ts';
import type { ClientsChangedEvent } from './inspect-data.ts';
import { parseLogLine } from './log-lines.ts';
import { DENIED, isDenied, LOG, LogVerification, NO_CONNECTIONS } from './log-verification.ts';

interface InspectPluginOptions {
  /** Longest wait for a log line. Default: 2,000. */
  readonly lineTimeoutMs?: number;
}

const CONNECTED_COUNT = '$SYS/broker/clients/connected';
const UPTIME = '$SYS/broker/uptime';
const VERSION = '$SYS/broker/version';
export const LOG_FILTERS: readonly string[] = [`${LOG}#`, VERSION, UPTIME, CONNECTED_COUNT];
/** Mosquitto drops log messages of a session that was offline for longer. */
const LINES_STORED_MS = 20_000;
/** Longest time that a command waits. */
const MAX_WAIT_MS = 5_000;
/** Interval in which changes are coalesced into one event. */
const COALESCE_MS = 50;
/** Clients per event. */
const MAX_CHANGED = 1_000;

export function inspectPluginFactory(options: InspectPluginOptions = {}): PluginFactory {
  const begin = (host: PluginHost) => (host.session.knock ? new LogFollower(host, options) : NO_LOG);
  return { api: 'cedalo/inspect', begin, create: (host) => begin(host).finish() };
}

const NO_LOG: BegunPlugin = {
  finish: async () => ({ unavailable: 'The broker has no log that this service can follow' }),
  close: () => undefined,
};

export const inspectPlugin = inspectPluginFactory();

/**
 * `cedalo/inspect` for plain Mosquitto, which cannot list its clients but logs connects and disconnects.
 *
 * Subscribes to `$SYS/broker/log/#` (QoS 1), and so knows the clients that connected afterwards. Earlier clients are
 * unknown until they reconnect. Following therefore begins together with the connection, and stops if the broker serves
 * the API itself. Until that is known, the plugin opens no second connection and sends no events.
 *
 * `unknownConnections` is the number of unknown clients, computed from `$SYS/broker/clients/connected`
 * (connection-census.ts), and absent before the first count. `complete` means that it is zero. `since` is the start of
 * following. Following restarts with an empty list if the broker did not store our session. It also restarts if the
 * link was down for longer than 20 s, because Mosquitto drops older log lines. If the broker stored the session and its
 * uptime is lower than before, the broker restarted: connections from before the loss of the link are removed.
 *
 * Never known, hence absent: queues, counters, in-flight messages, wills, certificates. Times in epoch milliseconds.
 */
class LogFollower implements ControlPlugin, BegunPlugin {
  readonly api = 'cedalo/inspect';
  readonly #host: PluginHost;
  readonly #verification: LogVerification;
  readonly #ledger = new ClientLedger({
    onChange: (clientid) => {
      this.#changed.add(clientid);
      this.#sendSoon();
    },
  });
  readonly #census = new ConnectionCensus();
  readonly #stops: Stop[] = [];
  readonly #waiters = new DisconnectWaiters((clientid, connection) => this.#ledger.hasEnded(clientid, connection));
  readonly #probeId: string;
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;
  #since = Date.now();
  #isProbing = false;
  /** `unknownConnections` of the last event. */
  #sentUnknown: number | null = null;
  #uptime = 0;
  #lostAt: number | null = null;
  /** Number of the last connection that was logged before the link was lost. */
  #lastBeforeLoss = 0;
  #subscribed: Promise<void> = Promise.resolve();
  /** Whether the broker granted the subscription once: the link renews it after reconnects. */
  #hasLog = false;
  #isActive = false;
  #closed = false;

  constructor(host: PluginHost, { lineTimeoutMs = 2_000 }: InspectPluginOptions) {
    this.#host = host;
    this.#verification = new LogVerification(host.session, lineTimeoutMs);
    this.#probeId = `${host.session.clientId}-probe`;
    this.#stops.push(host.session.onStatus((status) => this.#statusChanged(status)));
    this.#begin();
    this.#subscribeLog();
  }

  get problem(): string | null {
    return this.#verification.problem;
  }

  lookAgain(): Promise<void> {
    return this.#verification.update();
  }

  async finish(): Promise<ControlPlugin | Unavailable> {
    this.#isActive = true;
    if (this.#changed.size > 0) this.#sendSoon();
    try {
      await this.#subscribed;
      await this.#subscribeRest();
      const problem = await this.#verification.verify();
      if (problem === null) return this;
      this.close();
      // If a part of the log arrives, a connect line may have been lost. Silence is final.
      return { unavailable: problem, mayPass: problem === NO_CONNECTIONS };
    } catch (error) {
      this.close();
      if (isDenied(error)) return { unavailable: DENIED, refused: true };
      throw error;
    }
  }

  /** Called first: clients that connect before this subscription remain unknown. */
  #subscribeLog(): void {
    this.#subscribed = this.#subscribe(`${LOG}#`, (message) => this.#logLine(message)).then(() => {
      this.#hasLog = true;
    });
    // `finish` reports the error, but may never be called.
    this.#subscribed.catch(() => undefined);
  }

  /** Not before `finish`: some brokers send messages for only one of several overlapping filters. */
  async #subscribeRest(): Promise<void> {
    await this.#subscribe(VERSION, ({ payload }) => {
      this.#ledger.version = textOf(payload);
    });
    await this.#subscribe(UPTIME, ({ payload, retain }) => {
      this.#uptimeReceived(Number.parseInt(textOf(payload), 10), retain);
    });
    await this.#subscribe(CONNECTED_COUNT, ({ payload, retain }) => {
      this.#countReceived(Number.parseInt(textOf(payload), 10), retain);
    });
  }

  execute({ command, ...fields }: ControlCommand): unknown {
    const { status } = this.#host.session;
    if (status.state !== 'CONNECTED') throw unreachable(status);
    switch (command.toLowerCase()) {
      case 'listclients':
        return this.#list(fields);
      case 'getclient':
        return this.#get(fields);
      case 'describeconnection':
        return this.#describe(fields);
      case 'awaitend':
        return this.#awaitEnd(fields);
      case 'listkicked':
        return this.#ledger.kicks.after(
          Number(fields.after),
          typeof fields.username === 'string' ? fields.username : null,
        );
      case 'borrowsession':
        return this.#ledger.takeovers.begin(clientIdOf(fields));
      case 'returnsession':
        return this.#ledger.takeovers.cancel(clientIdOf(fields));
      default:
        throw new ControlRefusal('Unknown command');
    }
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#verification.close();
    this.#census.close();
    this.#waiters.close();
  }

  #list({ verbose, count, offset }: Fields): Record<string, unknown> {
    const from = typeof offset === 'number' && offset > 0 ? Math.trunc(offset) : 0;
    const most = typeof count === 'number' && count >= 0 ? Math.trunc(count) : -1;
    const clients = this.#ledger.page(from, most);
    return {
      totalCount: this.#ledger.size,
      clients: verbose === true ? clients : clients.map(({ clientid }) => clientid),
      sequence: this.#sequence,
      ...this.#state(),
    };
  }

  #get(fields: Fields): unknown {
    const detail = this.#ledger.detail(clientIdOf(fields));
    if (!detail) throw new ControlRefusal('Client not found');
    return detail;
  }

  async #describe(fields: Fields): Promise<FollowedClient> {
    const clientid = clientIdOf(fields);
    if (!this.#census.isCounted) await this.#census.whenCounted(timeoutOf(fields));
    const use = this.#ledger.accountOf(clientid);
    if (!use) throw new ControlRefusal('Client not found');
    const { unknown: unknownConnections, wasEmpty } = this.#census;
    return { ...use, unknownConnections, wasEmpty, since: this.#since, kickCount: this.#ledger.kicks.count };
  }

  #awaitEnd(fields: Fields): Promise<void> {
    return this.#waiters.wait(clientIdOf(fields), Number(fields.connection), timeoutOf(fields));
  }

  #state(): { readonly complete: boolean; readonly since: number; readonly unknownConnections?: number } {
    const { unknown } = this.#census;
    return {
      complete: unknown === 0 && !this.#ledger.overflowed,
      since: this.#since,
      ...(unknown === null ? {} : { unknownConnections: unknown }),
    };
  }

  get #knownConnections(): number {
    return this.#ledger.connectedCount + (this.#isProbing ? 1 : 0);
  }

  async #subscribe(filter: string, listener: (message: BrokerMessage) => void): Promise<void> {
    const stop = await this.#host.session.subscribe(filter, listener, { qos: 1 });
    if (this.#closed) stop();
    else this.#stops.push(stop);
  }

  /** Restarts following: only this service's own connection is known. */
  #begin(): void {
    const { session } = this.#host;
    this.#verification.reset();
    this.#isProbing = false;
    this.#ledger.clear();
    this.#ledger.addGateway(session.clientId, {
      account: session.username,
      protocol: session.isWebSocket === undefined ? null : session.isWebSocket ? 'MQTT-WS' : 'MQTT',
      protocolVersion: session.protocolVersion === 5 ? 'v5' : session.protocolVersion === 4 ? 'v3.1.1' : null,
      keepalive: session.keepaliveSeconds ?? null,
      lastConnect: session.status.since,
    });
  }

  /** Skips a number, so that receivers of events list again. */
  #restartEvents(): void {
    this.#since = Date.now();
    this.#sequence += 1;
    this.#sendSoon();
  }

  #logLine({ topic, payload }: BrokerMessage): void {
    this.#verification.lineReceived();
    this.#census.messageReceived();
    const line = parseLogLine(topic.slice(LOG.length), textOf(payload), (id) => this.#ledger.has(id));
    if (!line) return;
    if (line.kind === 'SUBSCRIBED') this.#ledger.subscriptionsFollowed = true;
    if (line.kind === 'CONNECTED' && this.#verification.connectionLogged()) this.#restartEvents();
    if ('clientid' in line && line.clientid === this.#probeId) {
      if (line.kind === 'DISCONNECTED') this.#isProbing = false;
      if (line.kind !== 'CONNECTED') return;
      this.#isProbing = true;
      this.#ledger.describeGateway(this.#host.session.clientId, line);
      return;
    }
    this.#census.unknownChanged(this.#ledger.apply(line, Date.now()));
    this.#sendUnknown();
    if ('clientid' in line) this.#waiters.notify(line.clientid);
  }

  #countReceived(connected: number, isRetained: boolean): void {
    if (!Number.isSafeInteger(connected)) return;
    this.#census.countReceived(connected, this.#knownConnections, isRetained);
    this.#sendUnknown();
  }

  #uptimeReceived(seconds: number, isRetained: boolean): void {
    if (!Number.isSafeInteger(seconds)) return;
    // The broker stopped when the link was lost, or earlier. Times cannot be compared: the broker has its own clock.
    if (seconds < this.#uptime) this.#ledger.removeUntil(this.#lastBeforeLoss);
    this.#uptime = seconds;
    if (!isRetained) this.#census.uptimeReceived(this.#knownConnections);
    this.#sendUnknown();
  }

  #sendUnknown(): void {
    if (this.#census.unknown !== this.#sentUnknown) this.#sendSoon();
  }

  #statusChanged({ state, resumed }: LinkStatus): void {
    if (state !== 'CONNECTED') {
      if (this.#lostAt === null) this.#lastBeforeLoss = this.#ledger.lastConnection;
      this.#lostAt ??= Date.now();
      return;
    }
    if (!this.#hasLog) this.#subscribeLog();
    const gap = this.#lostAt === null ? 0 : Date.now() - this.#lostAt;
    this.#lostAt = null;
    if (resumed === true && gap < LINES_STORED_MS) return;
    this.#census.reset();
    this.#begin();
    this.#restartEvents();
    if (this.#isActive) void this.#verification.restart();
  }

  #sendSoon(): void {
    if (this.#closed || !this.#isActive) return;
    this.#timer ??= setTimeout(() => this.#send(), COALESCE_MS);
  }

  #send(): void {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    this.#sentUnknown = this.#census.unknown;
    do {
      this.#host.emit(this.#event(ids.splice(0, MAX_CHANGED)));
    } while (ids.length > 0);
  }

  #event(ids: readonly string[]): ClientsChangedEvent {
    this.#sequence += 1;
    const changed = ids.map((id) => this.#ledger.summary(id)).filter((client) => client !== null);
    const removed = ids.filter((id) => !this.#ledger.has(id));
    return {
      type: 'event',
      event: 'clientsChanged',
      sequence: this.#sequence,
      changed,
      removed,
      ...this.#state(),
    };
  }
}

const timeoutOf = ({ patienceMs }: Fields): number =>
  typeof patienceMs === 'number' && patienceMs > 0 ? Math.min(patienceMs, MAX_WAIT_MS) : 0;

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
