import type { Logger } from 'pino';
import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterDrivers } from './cluster-drivers.ts';
import type { ClusterRecord, ClusterStatus } from './model/cluster.ts';

/** Current state of a cluster for subscribers. `now` is `null` once the cluster is deleted. */
export interface ClusterChange {
  readonly clusterId: string;
  readonly now: { readonly cluster: ClusterRecord; readonly status: ClusterStatus } | null;
}

export type ClusterEvent = BroadcastEvent<readonly ClusterChange[], ClusterChange>;

interface ClusterLiveOptions {
  readonly cache: ClusterCache;
  readonly drivers: ClusterDrivers;
  readonly log: Logger;
}

interface Feed extends ProjectFeed<readonly ClusterChange[], ClusterChange> {
  state: Map<string, ClusterChange>;
  ready: Promise<void>;
  waiting: number;
}

/** Live lists of the clusters of each project: first all clusters, then each change. */
export class ClusterLive {
  readonly #options: ClusterLiveOptions;
  readonly #feeds = new ProjectFeeds<Feed>((projectId, only) => this.#createFeed(projectId, only));
  readonly #stops: readonly Stop[];
  /** By cluster. If the cluster changes during a request, the status is requested again. */
  readonly #pending = new Map<string, { again: boolean }>();

  constructor(options: ClusterLiveOptions) {
    const { cache, drivers } = options;
    this.#options = options;
    this.#stops = [
      drivers.onChange((id) => this.#refresh(id)),
      cache.onChange((after, before) => {
        const cluster = after ?? before;
        if (cluster === null) return;
        if (after === null) this.#publish(cluster.projectId, { clusterId: cluster.id, now: null });
        else this.#refresh(cluster.id);
      }),
    ];
  }

  async watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): Promise<LiveSource<ClusterEvent>> {
    const feed = this.#feeds.of(projectId, only);
    feed.waiting += 1;
    try {
      await feed.ready;
      return feed.broadcast.subscribe(options);
    } catch (error) {
      this.#feeds.evict(feed);
      throw error;
    } finally {
      feed.waiting -= 1;
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.#feeds.close();
  }

  #createFeed(projectId: string, only: ReadonlySet<string> | null): Feed {
    const made: Feed = {
      state: new Map(),
      broadcast: new Broadcast(() => [...made.state.values()]),
      ready: Promise.resolve(),
      waiting: 0,
      get hasPendingSubscriber() {
        return made.waiting > 0;
      },
    };
    made.ready = this.#load(made, projectId, only);
    return made;
  }

  /** Changes that were published in the meantime are newer and are not overwritten. */
  async #load(feed: Feed, projectId: string, only: ReadonlySet<string> | null): Promise<void> {
    const { cache } = this.#options;
    const clusters = cache.ofProject(projectId).filter(({ id }) => only?.has(id) ?? true);
    const found = await Promise.all(clusters.map((cluster) => this.#read(cluster)));
    const published = feed.state;
    const now = [...found.filter(({ clusterId }) => !published.has(clusterId)), ...published.values()];
    const order = new Map(cache.all().map(({ id }, index) => [id, index] as const));
    const position = ({ clusterId }: ClusterChange) => order.get(clusterId) ?? 0;
    feed.state = new Map(
      now
        .filter(({ clusterId }) => order.has(clusterId))
        .sort((one, other) => position(one) - position(other))
        .map((change) => [change.clusterId, change]),
    );
  }

  #refresh(clusterId: string): void {
    const { cache, log } = this.#options;
    const pending = this.#pending.get(clusterId);
    const cluster = cache.get(clusterId);
    if (pending !== undefined) pending.again = true;
    if (pending !== undefined || cluster === null || !this.#hasSubscribers(cluster)) return;
    const own = { again: false };
    this.#pending.set(clusterId, own);
    this.#read(cluster)
      .then((change) => {
        // A cluster that was deleted in the meantime was already published as deleted.
        if (cache.get(clusterId) !== null) this.#publish(cluster.projectId, change);
      })
      .catch((error: unknown) => log.error({ err: error }, 'could not update the live status of clusters'))
      .finally(() => {
        this.#pending.delete(clusterId);
        if (own.again) this.#refresh(clusterId);
      });
  }

  async #read(cluster: ClusterRecord): Promise<ClusterChange> {
    const status = await this.#options.drivers.of(cluster).status(cluster);
    return { clusterId: cluster.id, now: { cluster, status } };
  }

  #hasSubscribers({ id, projectId }: ClusterRecord): boolean {
    const [first] = this.#feeds.containing(projectId, id);
    return first !== undefined;
  }

  #publish(projectId: string, change: ClusterChange): void {
    for (const { state, broadcast } of this.#feeds.containing(projectId, change.clusterId)) {
      const before = state.get(change.clusterId);
      if (before !== undefined && shownFields(before) === shownFields(change)) continue;
      if (change.now === null) state.delete(change.clusterId);
      else state.set(change.clusterId, change);
      broadcast.publish(change);
    }
  }
}

function shownFields({ now }: ClusterChange): string {
  if (now === null) return '';
  const { name, autoRepair, nodes } = now.cluster;
  const shown = nodes.map((node) => [node.nodeId, node.brokerId, node.name, node.address, node.port]);
  const status = now.status.nodes.map(({ error, ...node }) => [node, error?.code, error?.message]);
  return JSON.stringify([name, autoRepair, shown, now.status.state, status]);
}
