import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
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
import { ClientLedger } from './client-ledger.ts';
import { ConnectionCensus } from './connection-census.ts';
import { EndWaits } from './end-waits.ts';
import type { FollowedClient } from './followed-account.ts';
import type { ClientsChangedEvent, ListClientsData } from './inspect-data.ts';
import { parseLogLine } from './log-lines.ts';

/**
 * `cedalo/inspect` for plain Mosquitto, which cannot list its clients but tells in its log who comes and goes.
 *
 * Follows `$SYS/broker/log/#` (QoS 1) and so knows the clients that connected after it; those of before stay unknown until
 * they reconnect. Hence it follows from the first moment of a connection on, and is dropped if the broker turns out to serve the API
 * itself; until that is known it opens no second connection and tells nothing.
 *
 * `unknownConnections` says how many are unknown, by `$SYS/broker/clients/connected` (connection-census.ts), and is absent until the
 * broker has told it; `complete` says that there are none. `since` is when following began. Following begins anew, with nobody
 * known, when the broker did not keep our session or the link was down longer than log lines are kept (20 s). When a broker that
 * kept it has a lower uptime, connections of which it told before the link was lost are forgotten: it was started anew.
 *
 * Whether the log is told at all cannot be asked. The proof is a connection that we know of: a second one is opened and ended
 * (`knock`), and its line must come. Our own SUBSCRIBE lines are the smaller proof, since `log_type subscribe` may be on
 * without `notice` and the other way round; they decide whether subscriptions are told.
 *
 * Never known, hence absent: queues, counters, in-flight messages, wills, certificates. Times in epoch milliseconds.
 */
export interface InspectPluginOptions {
  /** How long a line of the log may take to come. Default 2000. */
  readonly patienceMs?: number;
  /** Changes of so long a time are told as one event. Default 50. */
  readonly coalesceMs?: number;
  readonly maxClients?: number;
}

const LOG = '$SYS/broker/log/';
const CONNECTED_COUNT = '$SYS/broker/clients/connected';
const UPTIME = '$SYS/broker/uptime';
const VERSION = '$SYS/broker/version';
/** What is subscribed to. */
export const LOG_FILTERS: readonly string[] = [`${LOG}#`, VERSION, UPTIME, CONNECTED_COUNT];
/** Mosquitto drops log messages that are older. */
const LINES_KEPT_MS = 20_000;
/** Longest time that a command waits. */
const MAX_PATIENCE_MS = 5_000;
/** Clients per event. */
const MAX_CHANGED = 1_000;

const NOT_TOLD =
  'The broker does not tell its log over MQTT, so connected clients cannot be followed: set `log_dest topic`, `log_type notice`, `log_type subscribe` and `log_type unsubscribe` in mosquitto.conf';
const NO_CONNECTIONS =
  'The broker tells its log over MQTT without connections: set `log_type notice` and `connection_messages true` in mosquitto.conf';
const DENIED = `The broker does not let this service read its log: its user needs subscribePattern and publishClientReceive on ${LOG}#`;
const NO_LOG = 'The broker has no log that could be followed';

export function inspectPluginFactory(options: InspectPluginOptions = {}): PluginFactory {
  const begin = (host: PluginHost) => (host.session.knock ? new LogFollower(host, options) : WITHOUT_LOG);
  return { api: 'cedalo/inspect', begin, create: (host) => begin(host).finish() };
}

const WITHOUT_LOG: BegunPlugin = { finish: async () => ({ unavailable: NO_LOG }), close: () => undefined };

export const inspectPlugin = inspectPluginFactory();

class LogFollower implements ControlPlugin, BegunPlugin {
  readonly api = 'cedalo/inspect';
  readonly #host: PluginHost;
  readonly #patienceMs: number;
  readonly #coalesceMs: number;
  readonly #ledger: ClientLedger;
  readonly #census = new ConnectionCensus();
  readonly #stops: Stop[] = [];
  readonly #endWaits = new EndWaits((clientid, connection) => this.#ledger.hasEnded(clientid, connection));
  readonly #probeId: string;
  /** Ids that changed since the last event. */
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;
  #since = Date.now();
  #isProbing = false;
  /** What the last event said of others. */
  #toldUnknown: number | null = null;
  #uptime = 0;
  #lostAt: number | null = null;
  /** Of the last connection that was told before the link was lost. */
  #lastBeforeLoss = 0;
  #heardLog = false;
  /** Waits for the line of a connection. */
  #heardConnection: (() => void) | null = null;
  /** Why nothing can be told although it could at the start. */
  #problem: string | null = null;
  /** The last verification: what an earlier one finds out, perhaps on an earlier connection, is of no interest. */
  #looking: Promise<void> | null = null;
  /** Settled when the broker has granted or refused the log. */
  #subscribed: Promise<void> = Promise.resolve();
  /** It has granted it once: the link keeps it over reconnects. */
  #hasLog = false;
  /** Somebody may listen to what is told. */
  #isWanted = false;
  #closed = false;

  /** Follows from here on. */
  constructor(host: PluginHost, { patienceMs = 2_000, coalesceMs = 50, maxClients }: InspectPluginOptions) {
    this.#host = host;
    this.#patienceMs = patienceMs;
    this.#coalesceMs = coalesceMs;
    this.#probeId = `${host.session.clientId}-probe`;
    this.#ledger = new ClientLedger({
      onChange: (clientid) => this.#markChanged(clientid),
      ...(maxClients === undefined ? {} : { maxClients }),
    });
    this.#stops.push(host.session.onStatus((status) => this.#statusChanged(status)));
    this.#begin();
    this.#subscribeLog();
  }

  /** Passes when the line of a connection comes after all. */
  get problem(): string | null {
    return this.#problem;
  }

  lookAgain(): Promise<void> {
    return this.#looking ?? this.#lookNow();
  }

  async finish(): Promise<ControlPlugin | Unavailable> {
    this.#isWanted = true;
    if (this.#changed.size > 0) this.#tellSoon();
    try {
      await this.#subscribed;
      await this.#subscribeRest();
      const problem = await this.#verify();
      if (problem === null) return this;
      this.close();
      // Who has a part of the log may have been asked in a bad moment; silence stays silence.
      return { unavailable: problem, mayPass: problem === NO_CONNECTIONS };
    } catch (error) {
      this.close();
      if (isDenied(error)) return { unavailable: DENIED, refused: true };
      throw error;
    }
  }

  /** Ahead of all else: who comes before the broker has it is never known. */
  #subscribeLog(): void {
    this.#subscribed = this.#subscribe(`${LOG}#`, (message) => this.#logLine(message)).then(() => {
      this.#hasLog = true;
    });
    // Told by `finish`, which may never be called.
    this.#subscribed.catch(() => undefined);
  }

  /** Not before it is wanted: others follow these, too, and some brokers tell a message to one of overlapping filters only. */
  async #subscribeRest(): Promise<void> {
    await this.#subscribe(VERSION, ({ payload }) => {
      this.#ledger.version = textOf(payload);
    });
    await this.#subscribe(UPTIME, ({ payload, retain }) => {
      this.#uptimeTold(Number.parseInt(textOf(payload), 10), retain);
    });
    await this.#subscribe(CONNECTED_COUNT, ({ payload, retain }) => {
      this.#countTold(Number.parseInt(textOf(payload), 10), retain);
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
        return this.#ledger.kickedSince(
          Number(fields.after),
          typeof fields.username === 'string' ? fields.username : null,
        );
      case 'borrowsession':
        return this.#ledger.borrow(clientIdOf(fields));
      case 'returnsession':
        return this.#ledger.giveBack(clientIdOf(fields));
      default:
        throw new ControlRefusal('Unknown command');
    }
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#heardConnection?.();
    this.#census.close();
    this.#endWaits.close();
  }

  #list({ verbose, count, offset }: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const from = typeof offset === 'number' && offset > 0 ? Math.trunc(offset) : 0;
    const most = typeof count === 'number' && count >= 0 ? Math.trunc(count) : -1;
    const data: ListClientsData = {
      totalCount: this.#ledger.size,
      clients: verbose === true ? this.#ledger.page(from, most) : [],
      sequence: this.#sequence,
      ...this.#state(),
    };
    return verbose === true ? { ...data } : { ...data, clients: this.#ledger.ids(from, most) };
  }

  #get(fields: Readonly<Record<string, unknown>>): unknown {
    const detail = this.#ledger.detail(clientIdOf(fields));
    if (!detail) throw new ControlRefusal('Client not found');
    return detail;
  }

  async #describe(fields: Readonly<Record<string, unknown>>): Promise<FollowedClient> {
    const clientid = clientIdOf(fields);
    if (!this.#census.isCounted) await this.#census.whenCounted(patienceOf(fields));
    const use = this.#ledger.accountOf(clientid);
    if (!use) throw new ControlRefusal('Client not found');
    const { unknown: unknownConnections, wasEmpty } = this.#census;
    return { ...use, unknownConnections, wasEmpty, since: this.#since, kickCount: this.#ledger.kickCount };
  }

  #awaitEnd(fields: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#endWaits.wait(clientIdOf(fields), Number(fields.connection), patienceOf(fields));
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

  /** Nobody is known from here on but ourselves. */
  #begin(): void {
    const { session } = this.#host;
    this.#since = Date.now();
    this.#heardLog = false;
    this.#isProbing = false;
    this.#ledger.clear();
    this.#ledger.addGateway(session.clientId, {
      username: session.username,
      protocol: session.isWebSocket === undefined ? null : session.isWebSocket ? 'MQTT-WS' : 'MQTT',
      protocolVersion: session.protocolVersion === 5 ? 'v5' : session.protocolVersion === 4 ? 'v3.1.1' : null,
      keepalive: session.keepaliveSeconds ?? null,
      lastConnect: session.status.since,
    });
  }

  /** The subscription has to be granted on this connection: lines of before never come. */
  async #verify(): Promise<string | null> {
    const { session } = this.#host;
    let timer: NodeJS.Timeout | undefined;
    let wake: (() => void) | null = null;
    const heard = new Promise<boolean>((resolve) => {
      wake = () => resolve(true);
      timer = setTimeout(() => resolve(false), this.#patienceMs);
    });
    this.#heardConnection = wake;
    try {
      await session.knock?.();
      if (await heard) return null;
      return this.#heardLog ? NO_CONNECTIONS : NOT_TOLD;
    } catch (error) {
      // A user that is bound to one client id cannot knock; the lines of our subscriptions have to do then.
      if (!(error instanceof ServiceError) || session.status.state !== 'CONNECTED') throw error;
      return this.#heardLog ? null : NOT_TOLD;
    } finally {
      clearTimeout(timer);
      if (this.#heardConnection === wake) this.#heardConnection = null;
    }
  }

  #logLine({ topic, payload }: BrokerMessage): void {
    this.#heardLog = true;
    this.#census.messageTold();
    const line = parseLogLine(topic.slice(LOG.length), textOf(payload), (id) => this.#ledger.has(id));
    if (!line) return;
    if (line.kind === 'SUBSCRIBED') this.#ledger.subscriptionsFollowed = true;
    if (line.kind === 'CONNECTED') this.#connectionTold();
    if ('clientid' in line && line.clientid === this.#probeId) {
      if (line.kind === 'DISCONNECTED') this.#isProbing = false;
      if (line.kind !== 'CONNECTED') return;
      this.#isProbing = true;
      this.#ledger.describeGateway(this.#host.session.clientId, line);
      return;
    }
    this.#census.strangersChanged(this.#ledger.apply(line, Date.now()));
    this.#tellUnknown();
    if ('clientid' in line) this.#endWaits.told(line.clientid);
  }

  #connectionTold(): void {
    this.#heardConnection?.();
    if (this.#problem === null) return;
    this.#problem = null;
    // Nobody can tell since when connections are told, but now they are.
    this.#since = Date.now();
    this.#sequence += 1;
    this.#tellSoon();
  }

  #countTold(connected: number, isRetained: boolean): void {
    if (!Number.isSafeInteger(connected)) return;
    this.#census.countTold(connected, this.#knownConnections, isRetained);
    this.#tellUnknown();
  }

  #uptimeTold(seconds: number, isRetained: boolean): void {
    if (!Number.isSafeInteger(seconds)) return;
    // Its end was the end of the link, at the latest. Times would not do: the broker has a clock of its own.
    if (seconds < this.#uptime) this.#ledger.forgetUntil(this.#lastBeforeLoss);
    this.#uptime = seconds;
    if (!isRetained) this.#census.uptimeTold(this.#knownConnections);
    this.#tellUnknown();
  }

  #tellUnknown(): void {
    if (this.#census.unknown !== this.#toldUnknown) this.#tellSoon();
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
    if (resumed === true && gap < LINES_KEPT_MS) return;
    this.#census.beginAnew();
    this.#begin();
    // Whoever follows the events finds a number missing, and lists again.
    this.#sequence += 1;
    this.#tellSoon();
    if (this.#isWanted) void this.#lookNow();
  }

  #lookNow(): Promise<void> {
    const looking = this.#granted()
      .then(() => this.#verify())
      .catch((error: unknown) => {
        if (isDenied(error)) return DENIED;
        throw error;
      })
      .then(
        (problem) => {
          if (this.#looking === looking) this.#problem = problem;
        },
        // The link is down again; the next connection verifies.
        () => undefined,
      )
      .finally(() => {
        if (this.#looking === looking) this.#looking = null;
      });
    this.#looking = looking;
    return looking;
  }

  /** Resolves when the broker has our subscription to the log on this connection: what it logged before never comes. */
  async #granted(): Promise<void> {
    const stop = await this.#host.session.subscribe(`${LOG}#`, () => undefined, { qos: 1 });
    stop();
  }

  #markChanged(clientid: string): void {
    this.#changed.add(clientid);
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#closed || !this.#isWanted) return;
    this.#timer ??= setTimeout(() => this.#tell(), this.#coalesceMs);
  }

  #tell(): void {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    this.#toldUnknown = this.#census.unknown;
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

function clientIdOf({ clientid }: Readonly<Record<string, unknown>>): string {
  if (typeof clientid !== 'string' || clientid === '') throw new ControlRefusal('Invalid/missing clientid');
  return clientid;
}

const patienceOf = ({ patienceMs }: Readonly<Record<string, unknown>>): number =>
  typeof patienceMs === 'number' && patienceMs > 0 ? Math.min(patienceMs, MAX_PATIENCE_MS) : 0;

const isDenied = (error: unknown) => error instanceof ServiceError && error.code === 'NOT_ALLOWED';

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
