import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../platform/limits/entry-limit.ts';
import { ClientIdFights, type Rival } from '../../protocol/apis/refusals/client-id-fights.ts';
import type { RefusalKind } from '../../protocol/apis/refusals/refusal.ts';
import { executeRefusalCommand, REFUSALS_API, refusalsChanged } from '../../protocol/apis/refusals/refusal-control.ts';
import { RefusalLog } from '../../protocol/apis/refusals/refusal-log.ts';
import { type CapabilityReason, reasonOf } from '../../protocol/control/capability-reason.ts';
import type { ControlCommand } from '../../protocol/control/envelope.ts';
import type {
  BegunPlugin,
  ControlPlugin,
  PluginFactory,
  PluginHost,
  Unavailable,
} from '../../protocol/control/plugin.ts';
import { mayRefuseConnect } from '../../protocol/mosquitto-log/client-patterns.ts';
import {
  type CauseLine,
  type ConnectedLine,
  type DisconnectedLine,
  NOT_AUTHORISED,
  TAKEN_OVER,
} from '../../protocol/mosquitto-log/log-line.ts';
import { LOG_TOPIC, LogReader, VERSION_TOPIC } from '../../protocol/mosquitto-log/log-reader.ts';
import type { BrokerMessage, Stop } from '../../protocol/mqtt/broker-session.ts';
import { TAKE_OVER_KEEPALIVE } from '../../protocol/mqtt/take-over.ts';
import { plainAddress } from '../clients/inspect/client-entry.ts';
import { DENIED, isDenied, LogVerification, NO_LOG } from '../clients/inspect/log-verification.ts';
import { limitOfLog } from './log-limits.ts';
import { type Explained, explainDenial, explainEnd } from './refusal-reasons.ts';
import { UnidentifiedConnections } from './unidentified-connections.ts';

const KINDS: readonly RefusalKind[] = ['CONNECT', 'PACKET', 'TAKEOVER'];

const CONNECTIONS_UNKNOWN: CapabilityReason = {
  code: 'CLIENTS_UNKNOWN',
  text: 'Refused connections cannot be followed',
};
const STOLEN = 'Another client used the client id of the connection of this service, which has another client id now.';
const LINE_TIMEOUT_MS = 2_000;
/** Clients whose connection is remembered, for refused packets. */
const MAX_CLIENTS = 10_000;

interface KnownClient {
  readonly address: string;
  readonly username: string | null;
  readonly listenerPort: number | null;
  /** Distinguishes a new connection from a line that arrived twice. */
  readonly port: number;
  /** `false` once the end of the connection was logged, except by a takeover. */
  isConnected: boolean;
}

interface RefusedConnection extends Partial<Omit<KnownClient, 'port' | 'isConnected'>> {
  /** `null` or absent: the broker does not name it. */
  readonly clientid?: string | null;
  readonly takenOverBy?: Rival;
}

export const refusalsPlugin: PluginFactory = {
  api: REFUSALS_API,
  begin: (host) => (host.session.knock ? new RefusalsPlugin(host) : NOT_FOLLOWED),
  create: async (host) => (host.session.knock ? new RefusalsPlugin(host).finish() : NOT_FOLLOWED.finish()),
};

const NOT_FOLLOWED: BegunPlugin = {
  finish: async () => ({ unavailable: NO_LOG }),
  close: () => undefined,
};

/**
 * `brokergraph/refusals` for Mosquitto, from its log topics. Follows the log from the constructor on. Whether the
 * broker logs connections is known from `cedalo/inspect`, which follows the same log; a broker that serves
 * `cedalo/inspect` itself is verified here.
 */
class RefusalsPlugin implements ControlPlugin, BegunPlugin {
  readonly api = REFUSALS_API;
  problem: CapabilityReason | null = null;
  readonly #host: PluginHost;
  readonly #verification: LogVerification;
  readonly #log: RefusalLog;
  readonly #connections = new UnidentifiedConnections();
  /** `null` until the broker logs the first connection. */
  #clients: LRUCache<string, KnownClient> | null = null;
  readonly #fights = new ClientIdFights();
  readonly #reader = new LogReader();
  readonly #stops: Promise<Stop>[] = [];
  #cause: CauseLine | null = null;
  /** The client id of the session, until another client has taken it over. */
  #ownId: string;
  /** The last client id of the session that another client has taken over. */
  #stolenId: string | null = null;
  #isActive = false;

  constructor(host: PluginHost) {
    this.#host = host;
    this.#verification = new LogVerification(host.session, LINE_TIMEOUT_MS);
    this.#log = new RefusalLog(() => {
      if (this.#isActive) host.emit(refusalsChanged(this.#log));
    });
    this.#ownId = host.session.clientId;
    host.session.explainTakeovers?.(() => this.#connections.onlyAddress);
    this.#stops.push(
      Promise.resolve(host.session.onStatus(({ state }) => state === 'CONNECTED' && this.#reconnected())),
    );
    this.#subscribe(`${LOG_TOPIC}#`, (message) => this.#received(message));
  }

  get limit(): CapabilityReason {
    return limitOfLog(this.#reader);
  }

  #subscribe(filter: string, listener: (message: BrokerMessage) => void): void {
    const subscribed = this.#host.session.subscribe(filter, listener, { qos: 1 });
    // `finish` reports the error, but may never be called.
    subscribed.catch(() => undefined);
    this.#stops.push(subscribed);
  }

  async finish(): Promise<ControlPlugin | Unavailable> {
    try {
      await Promise.all(this.#stops);
      // Not before: some brokers send messages for only one of several overlapping filters.
      this.#subscribe(VERSION_TOPIC, ({ payload }) => {
        this.#reader.version = Buffer.from(payload).toString();
      });
      await Promise.all(this.#stops);
      this.problem = await this.#problemNow();
    } catch (error) {
      this.close();
      if (isDenied(error)) return { unavailable: DENIED, refused: true };
      throw error;
    }
    if (this.problem !== null) {
      this.close();
      return { unavailable: this.problem, mayPass: true };
    }
    this.#isActive = true;
    return this;
  }

  async lookAgain(): Promise<void> {
    // The link is down again; the next connection looks again.
    this.problem = await this.#problemNow().catch(() => this.problem);
  }

  execute(command: ControlCommand): unknown {
    return executeRefusalCommand(this.#log, { kinds: KINDS, limit: this.limit }, command);
  }

  close(): void {
    this.#isActive = false;
    this.#log.close();
    this.#verification.close();
    for (const subscribed of this.#stops.splice(0)) {
      subscribed.then(
        (stop) => stop(),
        () => undefined,
      );
    }
  }

  async #problemNow(): Promise<CapabilityReason | null> {
    const inspect = await this.#host.controls?.capability('cedalo/inspect');
    if (inspect?.provider === 'GATEWAY') return null;
    if (inspect?.provider === 'NONE') return reasonOf(inspect) ?? CONNECTIONS_UNKNOWN;
    return this.#verification.verify();
  }

  #received({ topic, payload, isRepeated = false }: BrokerMessage): void {
    this.#verification.lineReceived();
    if (isRepeated) return;
    // Lines about subscriptions.
    if (topic.startsWith(`${LOG_TOPIC}M/`)) return;
    const line = this.#reader.read(topic.slice(LOG_TOPIC.length), payload, (id) => this.#clients?.has(id) === true);
    const cause = this.#cause;
    this.#cause = line.kind === 'CAUSE' ? (cause ?? line) : null;
    if (line.kind === 'OPENED') this.#connections.opened(line.address, line.port, line.listenerPort);
    else if (line.kind === 'CONNECTED') this.#connected(line);
    else if (line.kind === 'DISCONNECTED') this.#disconnected(line, cause);
    else if (line.kind === 'DENIED') this.#refused('CONNECT', explainDenial(line.detail), { address: line.address });
    else if (line.kind === 'CONNECTED_UNREAD') this.#connections.identified(line.address, line.port);
    else if (line.kind === 'STARTED') this.#connections.clear();
  }

  #connected(line: ConnectedLine): void {
    const { address, port, clientid, username } = line;
    this.#verification.connectionLogged();
    if (clientid === this.#stolenId) this.#stolen({ username, address: plainAddress(address) });
    const listenerPort = this.#connections.identified(address, port)?.listenerPort ?? null;
    const client = { address: plainAddress(address), username, listenerPort, port, isConnected: true };
    this.#clients ??= new LRUCache(entryLimit(MAX_CLIENTS));
    const previous = this.#clients.get(clientid);
    this.#clients.set(clientid, client);
    if (!previous?.isConnected || previous.port === port || this.#isOwnTakeover(line)) return;
    if (this.#fights.isFight(clientid, previous, client, performance.now()))
      this.#refused('TAKEOVER', { reason: 'TAKEN_OVER', detail: null }, { clientid, ...previous, takenOverBy: client });
  }

  /** The session replaces a client id that was taken over. */
  #reconnected(): void {
    const { clientId } = this.#host.session;
    if (clientId === this.#ownId) return;
    this.#stolenId = this.#ownId;
    this.#ownId = clientId;
    this.#stolen({ username: null, address: this.#connections.onlyAddress });
    this.#connections.clear();
  }

  /** Another client uses a client id of this service. */
  #stolen(takenOverBy: Rival): void {
    const { username = null } = this.#host.session;
    const connection = { clientid: this.#stolenId, username, takenOverBy };
    this.#refused('TAKEOVER', { reason: 'TAKEN_OVER', detail: STOLEN }, connection);
  }

  /** Whether this service has taken over the session for a command. */
  #isOwnTakeover({ username, keepalive, clean }: ConnectedLine): boolean {
    return keepalive === TAKE_OVER_KEEPALIVE && !clean && username === this.#host.session.username;
  }

  #disconnected(line: DisconnectedLine, cause: CauseLine | null): void {
    const { address, port, clientid, isPlaceholder } = line;
    // A stored session, or a bridge of the broker's own configuration. A missing PROXY header leaves no id either.
    const isUnknown = address === '(null)';
    if (isUnknown && clientid !== address) return;
    const isAdmitted = this.#isAdmitted(line);
    const explained = explainEnd(line, isAdmitted, cause);
    if (isAdmitted) {
      this.#ended(line);
      if (explained !== null) this.#refused('PACKET', explained, { clientid, ...this.#clients?.get(clientid) });
      return;
    }
    const opened =
      address === null || port === null ? this.#connections.closed() : this.#connections.identified(address, port);
    if (explained === null) return;
    const named = isPlaceholder ? null : clientid;
    this.#refused('CONNECT', explained, {
      clientid: named,
      ...(address !== null && !isUnknown && { address }),
      ...opened,
    });
  }

  /** Whether the line is about a client that was connected. Connections through a proxy are not logged before that. */
  #isAdmitted({ clientid, isPlaceholder, address, port, reason }: DisconnectedLine): boolean {
    if (isPlaceholder || reason === NOT_AUTHORISED) return false;
    if (address !== null && port !== null && this.#connections.has(address, port)) return false;
    const known = this.#clients?.get(clientid);
    return known?.isConnected ? port === null || port === known.port : !mayRefuseConnect(reason);
  }

  /**
   * The line of the new connection follows that of a takeover. Mosquitto 2.0 logs the takeover of a connection as an
   * error, and 2.1 also that of a stored session.
   */
  #ended({ clientid, reason, ends }: DisconnectedLine): void {
    if (reason === TAKEN_OVER && clientid === this.#ownId)
      this.#host.session.noteTakeover?.(this.#connections.onlyAddress);
    const client = this.#clients?.get(clientid);
    if (client === undefined) return;
    if (reason !== TAKEN_OVER) client.isConnected = false;
    else if (ends === 'ADMITTED') client.isConnected = true;
  }

  #refused(kind: RefusalKind, { reason, detail }: Explained, about: RefusedConnection): void {
    const { clientid: clientId = null, username = null, address = null, listenerPort = null } = about;
    const { takenOverBy = null } = about;
    const client = { clientId, username, address, listenerPort, takenOverBy };
    this.#log.add({ ...client, kind, reason, topic: null, reasonCode: null, detail });
  }
}
