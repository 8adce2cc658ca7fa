import {
  type LastPublisher,
  MAX_COUNTED_LEVELS,
  MAX_TOP,
  TOPIC_MEASURES,
  type TopList,
  TRAFFIC_MEASURES,
  TRAFFIC_WINDOWS,
  type TrafficMeasure,
} from '../../../protocol/apis/clients/traffic-control.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf, integerOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientRegistry } from '../clients/client-registry.ts';
import type { Connection } from '../clients/connection.ts';
import type { Traffic as Counters } from '../store/session.ts';
import { STEP_MS, TopWindow } from './top-window.ts';
import { TopicCounts } from './topic-counts.ts';

const COUNTERS: Readonly<Record<TrafficMeasure, keyof Counters>> = {
  MESSAGES_IN: 'published',
  MESSAGES_OUT: 'delivered',
  BYTES_IN: 'publishedBytes',
  BYTES_OUT: 'deliveredBytes',
};

/** Which clients and topics have the most traffic. Clients are counted by the counters of their connections. */
export class Traffic {
  readonly #registry: ClientRegistry;
  readonly #ownClientIds: string;
  readonly #timer: NodeJS.Timeout;
  readonly #topics = new TopicCounts();
  readonly #clients: Readonly<Record<TrafficMeasure, TopWindow>> = {
    MESSAGES_IN: new TopWindow(),
    MESSAGES_OUT: new TopWindow(),
    BYTES_IN: new TopWindow(),
    BYTES_OUT: new TopWindow(),
  };
  readonly #counted = new WeakMap<Connection, Counters>();
  #steppedAt = performance.now();

  /** @param ownClientIds prefix of the client ids of this service, which are not counted */
  constructor(registry: ClientRegistry, ownClientIds: string) {
    this.#registry = registry;
    this.#ownClientIds = ownClientIds;
    this.#timer = setInterval(() => this.#step(), STEP_MS).unref();
  }

  /** Called for each accepted publish of a client. */
  readonly published = (clientId: string, topic: string, bytes: number): void => {
    this.#topics.add(topic, bytes, clientId);
  };

  /** Counts what is new. Called when a connection has been closed. */
  readonly closed = (connection: Connection): void => {
    const clientId = connection.identity?.clientId;
    if (clientId === undefined || clientId.startsWith(this.#ownClientIds)) return;
    const { traffic } = connection.counters;
    const before = this.#counted.get(connection);
    for (const measure of TRAFFIC_MEASURES) {
      const counter = COUNTERS[measure];
      this.#clients[measure].add(clientId, traffic[counter] - (before?.[counter] ?? 0));
    }
    this.#counted.set(connection, traffic);
  };

  readonly commands = {
    listtopclients: (command: ControlCommand): TopList => {
      const by = chosen(command, 'by', TRAFFIC_MEASURES);
      this.#countClients();
      return this.#top(this.#clients[by], command);
    },
    listtoptopics: (command: ControlCommand): TopList => {
      const by = chosen(command, 'by', TOPIC_MEASURES);
      this.#topics.count();
      const levels = integerOf(fieldOf(command, 'levels')) ?? 0;
      const window = levels <= MAX_COUNTED_LEVELS ? this.#topics.window(by, levels) : null;
      if (window === null) throw new ControlRefusal('Invalid/missing levels');
      return this.#top(window, command);
    },
    getlastpublisher: (command: ControlCommand): LastPublisher | null =>
      this.#topics.lastPublisher(requiredText(command, 'topic')),
  };

  close(): void {
    clearInterval(this.#timer);
  }

  #top(window: TopWindow, command: ControlCommand): TopList {
    const last = chosen(command, 'last', TRAFFIC_WINDOWS);
    const count = Math.min(Math.max(integerOf(fieldOf(command, 'count')) ?? MAX_TOP, 0), MAX_TOP);
    return window.top(last, count, performance.now() - this.#steppedAt);
  }

  #countClients(): void {
    for (const connection of this.#registry.open) this.closed(connection);
  }

  #step(): void {
    this.#steppedAt = performance.now();
    this.#countClients();
    for (const measure of TRAFFIC_MEASURES) this.#clients[measure].step();
    this.#topics.step();
  }
}

function chosen<Name extends string>(command: ControlCommand, field: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === fieldOf(command, field));
  if (found === undefined) throw new ControlRefusal(`Invalid/missing ${field}`);
  return found;
}
