import { Broadcast, type BroadcastEvent, type SubscriberOptions } from '../live/broadcast.ts';
import type { LiveSource } from '../live/live-source.ts';
import type { Stop } from '../mqtt/broker-session.ts';
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

interface Followed {
  readonly projectId: string;
  /** Null: all clusters of the project. */
  readonly only: ReadonlySet<string> | null;
  readonly broadcast: Broadcast<readonly ClusterChange[], ClusterChange>;
  state: readonly ClusterChange[];
}

/** The clusters of projects for those who follow them: as they are, then each that changes. */
export class ClusterLive {
  readonly #options: ClusterLiveOptions;
  readonly #followed = new Map<string, Followed>();
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
    const key = JSON.stringify([projectId, ...(only === null ? [] : [...only].sort())]);
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      for (const [other, { broadcast }] of this.#followed) {
        if (broadcast.subscriberCount === 0) this.#followed.delete(other);
      }
      const made: Followed = { projectId, only, state: [], broadcast: new Broadcast(() => made.state) };
      followed = made;
      this.#followed.set(key, made);
      const clusters = this.#options.directory.ofProject(projectId).filter(({ id }) => only?.has(id) ?? true);
      const state = await Promise.all(clusters.map((cluster) => this.#now(cluster)));
      const told = new Set(made.state.map(({ clusterId }) => clusterId));
      made.state = [...state.filter(({ clusterId }) => !told.has(clusterId)), ...made.state];
    }
    return followed.broadcast.subscribe(options);
  }

  close(): void {
    for (const stop of this.#stops) stop();
    for (const { broadcast } of this.#followed.values()) broadcast.close();
    this.#followed.clear();
  }

  #changed(clusterId: string): void {
    const asking = this.#asking.get(clusterId);
    const cluster = this.#options.directory.get(clusterId);
    if (asking !== undefined) asking.again = true;
    if (asking !== undefined || cluster === null || !this.#isFollowed(cluster)) return;
    const mine = { again: false };
    this.#asking.set(clusterId, mine);
    this.#now(cluster)
      .then((change) => this.#tell(cluster.projectId, change))
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
    for (const followed of this.#followed.values()) if (concerns(followed, projectId, id)) return true;
    return false;
  }

  #tell(projectId: string, change: ClusterChange): void {
    for (const followed of this.#followed.values()) {
      if (!concerns(followed, projectId, change.clusterId)) continue;
      const others = followed.state.filter(({ clusterId }) => clusterId !== change.clusterId);
      followed.state = change.now === null ? others : [...others, change];
      followed.broadcast.publish(change);
    }
  }
}

const concerns = ({ projectId, only }: Followed, of: string, clusterId: string) =>
  projectId === of && (only?.has(clusterId) ?? true);
