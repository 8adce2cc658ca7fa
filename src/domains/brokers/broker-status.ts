import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerRecord } from './broker-cache.ts';

export interface BrokerStatusChange {
  readonly brokerId: string;
  /** `null` after the broker was removed. */
  readonly broker: BrokerRecord | null;
  readonly connection: LinkStatus;
}

export type BrokerStatusEvent = BroadcastEvent<readonly BrokerStatusChange[], BrokerStatusChange>;

/** Sends the state of a project's brokers to watchers. */
export class BrokerStatusFeeds {
  readonly #feeds: ProjectFeeds<ProjectFeed<readonly BrokerStatusChange[], BrokerStatusChange>>;

  constructor(statusOf: (projectId: string) => readonly BrokerStatusChange[]) {
    this.#feeds = new ProjectFeeds((projectId, only) => ({
      broadcast: new Broadcast<readonly BrokerStatusChange[], BrokerStatusChange>(() =>
        statusOf(projectId).filter(({ brokerId }) => only?.has(brokerId) ?? true),
      ),
    }));
  }

  /** Sends all brokers, or those in `only`, then each change. */
  watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    return this.#feeds.of(projectId, only).broadcast.subscribe(options);
  }

  publish(projectId: string, change: BrokerStatusChange): void {
    for (const { broadcast } of this.#feeds.containing(projectId, change.brokerId)) broadcast.publish(change);
  }

  close(): void {
    this.#feeds.close();
  }
}
