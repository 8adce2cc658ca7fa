import type { Logger } from 'pino';
import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import { Outages } from '../../platform/outages.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';

export interface BrokerStatusChange {
  readonly brokerId: string;
  readonly broker: BrokerRecord | null;
  readonly connection: LinkStatus;
}

export type BrokerStatusEvent = BroadcastEvent<readonly BrokerStatusChange[], BrokerStatusChange>;

interface BrokerStatusFeedOptions {
  readonly brokers: BrokerCache;
  readonly log: Logger;
  readonly statusOf: (id: string) => LinkStatus;
}

/** The states of the links to the brokers of each project, for subscribers and for the log. */
export class BrokerStatusFeed {
  readonly #options: BrokerStatusFeedOptions;
  readonly #outages: Outages;
  readonly #feeds = new ProjectFeeds<ProjectFeed<readonly BrokerStatusChange[], BrokerStatusChange>>(
    (projectId, only) => ({ broadcast: new Broadcast(() => this.#snapshot(projectId, only)) }),
  );

  constructor(options: BrokerStatusFeedOptions) {
    this.#options = options;
    this.#outages = new Outages({ what: 'the connection to a broker', log: options.log });
  }

  watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    return this.#feeds.of(projectId, only).broadcast.subscribe(options);
  }

  /** `current`: the entry now; `null` if it was deleted. */
  publish(broker: BrokerRecord, current: BrokerRecord | null): void {
    const connection =
      current === null
        ? { state: 'CLOSED' as const, since: new Date().toISOString() }
        : this.#options.statusOf(broker.id);
    const change = { brokerId: broker.id, broker: current, connection };
    for (const { broadcast } of this.#feeds.containing(broker.projectId, broker.id)) broadcast.publish(change);
  }

  /** `broker`: `null` if it was deleted. */
  noteOutage(id: string, broker: BrokerRecord | null, { state, lastError: error, since }: LinkStatus): void {
    if (broker === null || state === 'CLOSED') this.#outages.forget(id);
    if (broker === null) return;
    const fields = { brokerId: id, name: broker.name, projectId: broker.projectId };
    if (state === 'CONNECTED') this.#outages.up(id, fields);
    else if (state === 'UNREACHABLE' || state === 'UNAUTHORIZED')
      this.#outages.down(id, { ...fields, state, error }, Date.parse(since));
  }

  close(): void {
    this.#feeds.close();
  }

  #snapshot(projectId: string, only: ReadonlySet<string> | null): BrokerStatusChange[] {
    return this.#options.brokers
      .ofProject(projectId)
      .filter(({ id }) => only?.has(id) ?? true)
      .map((broker) => ({ brokerId: broker.id, broker, connection: this.#options.statusOf(broker.id) }));
  }
}
