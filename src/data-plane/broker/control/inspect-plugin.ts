import { setImmediate as turn } from 'node:timers/promises';
import type { ClientEventLog } from '../../../protocol/apis/clients/client-event-log.ts';
import { MAX_QUEUE_IDS } from '../../../protocol/apis/clients/inspect-control.ts';
import type {
  BacklogPage,
  ClientQueues,
  ClientsChangedEvent,
  ConnectedClientSummary,
  ListClientsData,
} from '../../../protocol/apis/clients/inspect-data.ts';
import { subscriberRequestOf } from '../../../protocol/apis/clients/subscriber-control.ts';
import { FirstSubscribers, type SubscriberList } from '../../../protocol/apis/clients/subscriber-list.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientRegistry } from '../clients/client-registry.ts';
import type { IncomingStore } from '../store/incoming-store.ts';
import type { SubscriptionIndex } from '../store/subscription-index.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { ClientReport, type WireClientDetail } from './client-report.ts';

interface InspectPluginOptions {
  readonly registry: ClientRegistry;
  readonly incoming: IncomingStore;
  readonly subscriptions: SubscriptionIndex;
  /** Start time of the broker in epoch milliseconds. */
  readonly since: number;
  readonly emit: (event: ClientsChangedEvent) => void;
  readonly events: ClientEventLog;
  readonly traffic: Traffic;
}

const COLLECT_MS = 50;

/** Maximum number of clients of one event. Further changes follow in more events. */
const MAX_EVENT_CLIENTS = 1_000;
const MAX_BACKLOGS = 2_000;

/**
 * `cedalo/inspect` of the embedded broker: connected clients, and offline clients with a persistent session. Each
 * event has the next sequence number. Pending changes are sent before a list is created, so a caller that lists the
 * clients at number n and applies the events after n has the current state.
 */
export class InspectPlugin implements ControlPlugin {
  readonly api = 'cedalo/inspect';
  readonly #options: InspectPluginOptions;
  readonly #report: ClientReport;
  readonly #changed = new Set<string>();
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;

  constructor(options: InspectPluginOptions) {
    this.#options = options;
    this.#report = new ClientReport(options.registry, options.incoming);
    this.#stop = options.registry.onChange((clientId) => {
      this.#changed.add(clientId);
      this.#timer ??= setTimeout(() => this.#emitChanges(), COLLECT_MS);
    });
  }

  /**
   * A client sees the end of its connection before the stream reports it, at the end of this iteration of the event
   * loop. A list that the client asks for then would contain it.
   */
  async prepare(): Promise<void> {
    if (!this.#options.registry.isClosing) return;
    await turn();
    await turn();
  }

  execute(command: ControlCommand): unknown {
    const table = {
      listclients: (c: ControlCommand) => this.#list(c),
      getclient: (c: ControlCommand) => this.#get(c),
      getqueues: (c: ControlCommand) => this.#queues(c),
      listbacklogs: (c: ControlCommand) => this.#backlogs(c),
      listsubscribers: (c: ControlCommand) => this.#subscribers(c),
      listclientevents: (c: ControlCommand) => this.#options.events.execute(c),
      ...this.#options.traffic.commands,
    };
    return runCommandOf(table, command);
  }

  close(): void {
    this.#options.events.close();
    this.#options.traffic.close();
    this.#stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #list(command: ControlCommand): ListClientsData | { readonly clients: readonly string[] } {
    this.#emitChanges();
    const { verbose, count, offset } = pageOf(command);
    const { registry, since } = this.#options;
    const ids = registry.sortedIds();
    const page = offset === 0 && count >= ids.length ? ids : ids.slice(offset, offset + count);
    const about = { totalCount: ids.length, sequence: this.#sequence, since };
    if (!verbose) return { ...about, clients: page };
    return { ...about, clients: page.map((id) => this.#report.summary(id)).filter((client) => client !== null) };
  }

  #get(command: ControlCommand): WireClientDetail {
    const clientId = requiredText(command, 'clientid');
    const detail = this.#report.detail(clientId);
    if (!detail) throw new ControlRefusal('Client not found');
    return detail;
  }

  #queues(command: ControlCommand): { readonly queues: readonly (ClientQueues | null)[] } {
    const ids = fieldOf(command, 'clientids');
    if (!Array.isArray(ids) || ids.length > MAX_QUEUE_IDS) throw new ControlRefusal('Invalid/missing clientids');
    return { queues: ids.map((id) => (typeof id === 'string' ? this.#report.queues(id) : null)) };
  }

  #backlogs(command: ControlCommand): BacklogPage {
    const after = requiredText(command, 'after');
    const backlogs: BacklogPage['backlogs'][number][] = [];
    for (const clientid of this.#options.registry.sortedIds()) {
      if (clientid <= after) continue;
      const backlog = this.#report.backlog(clientid);
      if (backlog.messagesOut === 0 && backlog.numDropped === 0) continue;
      backlogs.push({ clientid, ...backlog });
      if (backlogs.length === MAX_BACKLOGS) return { backlogs, next: clientid };
    }
    return { backlogs };
  }

  #subscribers(command: ControlCommand): SubscriberList {
    const { topic, count } = subscriberRequestOf(command);
    const first = new FirstSubscribers(count);
    for (const { clientId: clientid, topic: filter, qos, holder } of this.#options.subscriptions.matching(topic)) {
      first.add({ clientid, filter, qos, connected: holder.isOnline });
    }
    return first.list(true);
  }

  #emitChanges(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const clientIds = [...this.#changed];
    this.#changed.clear();
    for (let from = 0; from < clientIds.length; from += MAX_EVENT_CLIENTS) {
      this.#emitFor(clientIds.slice(from, from + MAX_EVENT_CLIENTS));
    }
  }

  #emitFor(clientIds: readonly string[]): void {
    const changed: ConnectedClientSummary[] = [];
    const removed: string[] = [];
    for (const clientId of clientIds) {
      const summary = this.#report.summary(clientId);
      if (summary) changed.push(summary);
      else removed.push(clientId);
    }
    this.#sequence += 1;
    this.#options.emit({ type: 'event', event: 'clientsChanged', sequence: this.#sequence, changed, removed });
  }
}
