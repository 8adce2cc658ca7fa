import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { ClusterKeepers } from './cluster-keepers.ts';
import type { ClusterRecord } from './model/cluster.ts';
import type { ClusterStatus } from './model/cluster-status.ts';

/** A cluster as those who follow it see it; null: it is gone. */
export interface ClusterChange {
  readonly clusterId: string;
  readonly now: { readonly cluster: ClusterRecord; readonly status: ClusterStatus } | null;
}

export type ClusterEvent = BroadcastEvent<readonly ClusterChange[], ClusterChange>;

export interface ClusterLiveOptions {
  readonly directory: ClusterDirectory;
  readonly keepers: ClusterKeepers;
  /** A bug that concerns no caller. */
  readonly onFault: (error: unknown) => void;
}

interface Followed extends ProjectFeed<readonly ClusterChange[], ClusterChange> {
  /** By cluster, in order of creation. */
  state: Map<string, ClusterChange>;
  /** Settled once `state` is whole. */
  begun: Promise<void>;
  /** Those who wait for that. */
  waiting: number;
}

/** The clusters of projects for those who follow them: as they are, then each that changes. */
export class ClusterLive {
  readonly #options: ClusterLiveOptions;
  readonly #feeds = new ProjectFeeds<Followed>((projectId, only) => this.#follow(projectId, only));
  readonly #stops: readonly Stop[];
  /** Of a cluster: one status is asked at a time, and once more where it changed meanwhile. */
  readonly #asking = new Map<string, { again: boolean }>();

  constructor(options: ClusterLiveOptions) {
    const { directory, keepers } = options;
    this.#options = options;
    this.#stops = [
      keepers.onChange((id) => this.#changed(id)),
      directory.onChange((after, before) => {
        const cluster = after ?? before;
        if (cluster === null) return;
        if (after === null) this.#tell(cluster.projectId, { clusterId: cluster.id, now: null });
        else this.#changed(cluster.id);
      }),
    ];
  }

  /** The clusters now, then each change of one. */
  async watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): Promise<LiveSource<ClusterEvent>> {
    const followed = this.#feeds.of(projectId, only);
    followed.waiting += 1;
    try {
      await followed.begun;
      return followed.broadcast.subscribe(options);
    } catch (error) {
      this.#feeds.evict(followed);
      throw error;
    } finally {
      followed.waiting -= 1;
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.#feeds.close();
  }

  #follow(projectId: string, only: ReadonlySet<string> | null): Followed {
    const made: Followed = {
      state: new Map(),
      broadcast: new Broadcast(() => [...made.state.values()]),
      begun: Promise.resolve(),
      waiting: 0,
      get hasPendingSubscriber() {
        return made.waiting > 0;
      },
    };
    made.begun = this.#begin(made, projectId, only);
    return made;
  }

  /** What is told while it is asked for is newer. */
  async #begin(followed: Followed, projectId: string, only: ReadonlySet<string> | null): Promise<void> {
    const { directory } = this.#options;
    const clusters = directory.ofProject(projectId).filter(({ id }) => only?.has(id) ?? true);
    const found = await Promise.all(clusters.map((cluster) => this.#now(cluster)));
    const told = followed.state;
    const now = [...found.filter(({ clusterId }) => !told.has(clusterId)), ...told.values()];
    const order = new Map(directory.all().map(({ id }, index) => [id, index] as const));
    const place = ({ clusterId }: ClusterChange) => order.get(clusterId) ?? 0;
    followed.state = new Map(
      now
        .filter(({ clusterId }) => order.has(clusterId))
        .sort((one, other) => place(one) - place(other))
        .map((change) => [change.clusterId, change]),
    );
  }

  #changed(clusterId: string): void {
    const asking = this.#asking.get(clusterId);
    const cluster = this.#options.directory.get(clusterId);
    if (asking !== undefined) asking.again = true;
    if (asking !== undefined || cluster === null || !this.#isFollowed(cluster)) return;
    const mine = { again: false };
    this.#asking.set(clusterId, mine);
    this.#now(cluster)
      .then((change) => {
        // It may be gone meanwhile, which was told.
        if (this.#options.directory.get(clusterId) !== null) this.#tell(cluster.projectId, change);
      })
      .catch(this.#options.onFault)
      .finally(() => {
        this.#asking.delete(clusterId);
        if (mine.again) this.#changed(clusterId);
      });
  }

  async #now(cluster: ClusterRecord): Promise<ClusterChange> {
    const status = await this.#options.keepers.of(cluster).status(cluster);
    return { clusterId: cluster.id, now: { cluster, status } };
  }

  #isFollowed({ id, projectId }: ClusterRecord): boolean {
    const [first] = this.#feeds.containing(projectId, id);
    return first !== undefined;
  }

  #tell(projectId: string, change: ClusterChange): void {
    for (const { state, broadcast } of this.#feeds.containing(projectId, change.clusterId)) {
      const before = state.get(change.clusterId);
      if (before !== undefined && looksOf(before) === looksOf(change)) continue;
      if (change.now === null) state.delete(change.clusterId);
      else state.set(change.clusterId, change);
      broadcast.publish(change);
    }
  }
}

/** What is shown of it: rows change with every write. */
function looksOf({ now }: ClusterChange): string {
  if (now === null) return '';
  const { name, autoRepair, nodes } = now.cluster;
  const shown = nodes.map(({ nodeId, brokerId, address, port, ...node }) => [
    nodeId,
    brokerId,
    node.name,
    address,
    port,
  ]);
  const status = now.status.nodes.map(({ error, ...node }) => [node, error?.code, error?.message]);
  return JSON.stringify([name, autoRepair, shown, now.status.state, status]);
}
