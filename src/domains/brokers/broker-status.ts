import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerRecord } from './broker-cache.ts';

/** A broker as a dashboard follows it; `broker` is null once it is removed. */
export interface BrokerStatusChange {
  readonly brokerId: string;
  readonly broker: BrokerRecord | null;
  readonly connection: LinkStatus;
}

export type BrokerStatusEvent = BroadcastEvent<readonly BrokerStatusChange[], BrokerStatusChange>;

/** The state of projects' brokers for those who follow it. */
export class BrokerStatusFeeds {
  readonly #feeds: ProjectFeeds<ProjectFeed<readonly BrokerStatusChange[], BrokerStatusChange>>;

  constructor(statusOf: (projectId: string) => readonly BrokerStatusChange[]) {
    this.#feeds = new ProjectFeeds((projectId, only) => ({
      broadcast: new Broadcast<readonly BrokerStatusChange[], BrokerStatusChange>(() =>
        statusOf(projectId).filter(({ brokerId }) => only?.has(brokerId) ?? true),
      ),
    }));
  }

  /** The brokers now, then each change of one. */
  watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    return this.#feeds.of(projectId, only).broadcast.subscribe(options);
  }

  tell(projectId: string, change: BrokerStatusChange): void {
    for (const { broadcast } of this.#feeds.containing(projectId, change.brokerId)) broadcast.publish(change);
  }

  close(): void {
    this.#feeds.close();
  }
}
