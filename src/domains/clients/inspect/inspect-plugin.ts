import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { ClientEventLog } from '../../../protocol/apis/clients/client-event-log.ts';
import { clientIdOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ClientsChangedEvent } from '../../../protocol/apis/clients/inspect-data.ts';
import { subscriberRequestOf } from '../../../protocol/apis/clients/subscriber-control.ts';
import type { SubscriberList } from '../../../protocol/apis/clients/subscriber-list.ts';
import type { CapabilityReason } from '../../../protocol/control/capability-reason.ts';
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
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { unreachable } from '../../../protocol/mqtt/when-connected.ts';
import { ClientListeners } from './client-listeners.ts';
import type { FollowedClient } from './followed-account.ts';
import { unreadReason } from './incomplete-list.ts';
import { LogFollower } from './log-follower.ts';
import { DENIED, isDenied, NO_CONNECTIONS, NO_LOG } from './log-verification.ts';

interface InspectPluginOptions {
  /** Longest wait for a log line. Default: 2,000. */
  readonly lineTimeoutMs?: number;
  /** Called for a log line that is not understood. */
  readonly onUnreadLine?: () => void;
}

const MAX_WAIT_MS = 5_000;
/** Interval in which changes are coalesced into one event. */
const COALESCE_MS = 50;
const MAX_CHANGED = 1_000;
const NO_SUBSCRIPTIONS =
  'The broker has logged no subscription yet: it needs `log_type subscribe` and `log_type unsubscribe`, or `log_type all`';

export function inspectPluginFactory(options: InspectPluginOptions = {}): PluginFactory {
  const begin = (host: PluginHost) => (host.session.knock ? new InspectPlugin(host, options) : NOT_FOLLOWED);
  return { api: 'cedalo/inspect', begin, create: (host) => begin(host).finish() };
}

const NOT_FOLLOWED: BegunPlugin = {
  finish: async () => ({ unavailable: NO_LOG }),
  close: () => undefined,
};

export const inspectPlugin = inspectPluginFactory();

/**
 * `cedalo/inspect` for plain Mosquitto, which cannot list its clients but logs connects and disconnects.
 *
 * Knows the clients that connected after it subscribed to the log. Earlier clients are
 * unknown until they reconnect. Following therefore begins together with the connection, and stops if the broker serves
 * the API itself. Until that is known, the plugin opens no second connection and sends no events.
 *
 * `unknownConnections` is the number of unknown clients, computed from `$SYS/broker/clients/connected`
 * (connection-census.ts), and absent before the first count. `complete` means that it is zero. `since` is the start of
 * following.
 *
 * Never known, hence absent: queues, counters, in-flight messages, wills, certificates. Times in epoch milliseconds.
 */
class InspectPlugin implements ControlPlugin, BegunPlugin {
  readonly api = 'cedalo/inspect';
  readonly #host: PluginHost;
  readonly #follower: LogFollower;
  readonly #listeners: ClientListeners;
  readonly #stopStatus: Stop;
  readonly #changed = new Set<string>();
  readonly #events: ClientEventLog;
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;
  /** `unknownConnections` of the last event. */
  #sentUnknown: number | null = null;
  #isActive = false;

  constructor(host: PluginHost, { lineTimeoutMs = 2_000, onUnreadLine = () => undefined }: InspectPluginOptions) {
    this.#host = host;
    this.#events = new ClientEventLog((event) => this.#isActive && host.emit(event));
    this.#follower = new LogFollower(host.session, {
      lineTimeoutMs,
      onUnread: () => {
        onUnreadLine();
        this.#sendSoon();
      },
      onChange: (clientid) => {
        this.#changed.add(clientid);
        this.#sendSoon();
      },
      onCount: () => {
        if (this.#follower.census.unknown !== this.#sentUnknown) this.#sendSoon();
      },
      onEvent: (event) => {
        // The list has this service's own connections; their events say nothing about devices.
        if (!event.clientId?.startsWith(host.session.clientId)) this.#events.add(event);
      },
      onRestart: () => {
        // Receivers of events find a number missing, and list again.
        this.#sequence += 1;
        this.#sendSoon();
      },
    });
    this.#listeners = new ClientListeners(host.controls, (listeners) => {
      this.#follower.ledger.listeners = listeners;
    });
    this.#stopStatus = host.session.onStatus(({ state }) => {
      if (state === 'CONNECTED' && this.#isActive) void this.#listeners.read();
    });
  }

  get problem(): CapabilityReason | null {
    return this.#follower.verification.problem;
  }

  get limit(): CapabilityReason | undefined {
    return unreadReason(this.#follower.reader) ?? undefined;
  }

  lookAgain(): Promise<void> {
    return this.#follower.verification.update();
  }

  async finish(): Promise<ControlPlugin | Unavailable> {
    this.#isActive = true;
    void this.#listeners.read();
    if (this.#changed.size > 0) this.#sendSoon();
    try {
      const problem = await this.#follower.start();
      this.#events.since = this.#follower.state.since;
      if (problem === null) return this;
      this.close();
      // Other log lines arrive, so only the connect line may have been lost: a retry may succeed.
      return { unavailable: problem, mayPass: problem === NO_CONNECTIONS || problem.code === 'LOG_NOT_UNDERSTOOD' };
    } catch (error) {
      this.close();
      if (isDenied(error)) return { unavailable: DENIED, refused: true };
      throw error;
    }
  }

  execute({ command, ...fields }: ControlCommand): unknown {
    const { status } = this.#host.session;
    const { ledger, waiters } = this.#follower;
    if (status.state !== 'CONNECTED') throw unreachable(status);
    this.#listeners.retry();
    switch (command.toLowerCase()) {
      case 'listclients':
        return this.#list(fields);
      case 'getclient':
        return this.#get(fields);
      case 'listsubscribers':
        return this.#subscribers({ command, ...fields });
      case 'listclientevents':
        this.#follower.reportDropped();
        return { ...this.#events.execute({ command, ...fields }), lateMs: this.#follower.behindMs };
      case 'describeconnection':
        return this.#describe(fields);
      case 'awaitend':
        return waiters.wait(clientIdOf(fields), Number(fields.connection), timeoutOf(fields));
      case 'listkicked':
        return ledger.kicks.after(Number(fields.after), typeof fields.username === 'string' ? fields.username : null);
      case 'borrowsession':
        return ledger.takeovers.begin(clientIdOf(fields));
      case 'returnsession':
        return ledger.takeovers.cancel(clientIdOf(fields));
      default:
        throw new ControlRefusal('Unknown command');
    }
  }

  close(): void {
    this.#isActive = false;
    this.#stopStatus();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#events.close();
    this.#follower.close();
  }

  #list({ verbose, count, offset }: Fields): Record<string, unknown> {
    const from = typeof offset === 'number' && offset > 0 ? Math.trunc(offset) : 0;
    const most = typeof count === 'number' && count >= 0 ? Math.trunc(count) : -1;
    const { ledger, state } = this.#follower;
    const clients = ledger.page(from, most);
    return {
      totalCount: ledger.size,
      clients: verbose === true ? clients : clients.map(({ clientid }) => clientid),
      sequence: this.#sequence,
      ...state,
    };
  }

  #get(fields: Fields): unknown {
    const detail = this.#follower.ledger.detail(clientIdOf(fields));
    if (!detail) throw new ControlRefusal('Client not found');
    return detail;
  }

  #subscribers(command: ControlCommand): Promise<SubscriberList> {
    const { topic, count } = subscriberRequestOf(command);
    const { ledger, state } = this.#follower;
    if (!ledger.subscriptionsFollowed) {
      const info = { api: this.api, reason: NO_SUBSCRIPTIONS };
      throw new ControlRefusal(NO_SUBSCRIPTIONS, { code: 'NOT_SUPPORTED_BY_BROKER', info });
    }
    return runInSlices(ledger.subscribers(topic, count, state.complete));
  }

  async #describe(fields: Fields): Promise<FollowedClient> {
    const clientid = clientIdOf(fields);
    const { census, ledger } = this.#follower;
    if (!census.isCounted) await census.whenCounted(timeoutOf(fields));
    const use = ledger.accountOf(clientid);
    if (!use) throw new ControlRefusal('Client not found');
    const { hasClients } = this.#follower.reader.unread;
    return {
      ...use,
      unknownConnections: hasClients ? null : census.unknown,
      wasEmpty: census.wasEmpty && !hasClients,
      since: this.#follower.state.since,
      kickCount: ledger.kicks.count,
    };
  }

  #sendSoon(): void {
    if (this.#isActive) this.#timer ??= setTimeout(() => this.#send(), COALESCE_MS);
  }

  #send(): void {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    this.#sentUnknown = this.#follower.census.unknown;
    do {
      this.#host.emit(this.#event(ids.splice(0, MAX_CHANGED)));
    } while (ids.length > 0);
  }

  #event(ids: readonly string[]): ClientsChangedEvent {
    this.#sequence += 1;
    const { ledger, state } = this.#follower;
    const changed = ids.map((id) => ledger.summary(id)).filter((client) => client !== null);
    const removed = ids.filter((id) => !ledger.has(id));
    return { type: 'event', event: 'clientsChanged', sequence: this.#sequence, changed, removed, ...state };
  }
}

const timeoutOf = ({ patienceMs }: Fields): number =>
  typeof patienceMs === 'number' && patienceMs > 0 ? Math.min(patienceMs, MAX_WAIT_MS) : 0;
