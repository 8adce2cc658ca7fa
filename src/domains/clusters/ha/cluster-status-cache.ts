import type { ClusterRecord } from '../model/cluster.ts';
import type { ClusterStatus } from '../model/cluster-status.ts';

interface CachedStatus {
  readonly status: Promise<ClusterStatus>;
  /** In terms of `performance.now()`. Infinity until the status is complete. */
  expiresAt: number;
}

interface ClusterStatusCacheOptions {
  /** Reads the status. `isNewest` returns whether the cluster is unchanged since the request started. */
  readonly read: (cluster: ClusterRecord, isNewest: () => boolean) => Promise<ClusterStatus>;
  /** How long a complete status is cached, in milliseconds. */
  readonly holdMs: number;
}

/** Caches the status of clusters. Concurrent callers share one request. */
export class ClusterStatusCache {
  readonly #options: ClusterStatusCacheOptions;
  readonly #cached = new Map<string, CachedStatus>();

  constructor(options: ClusterStatusCacheOptions) {
    this.#options = options;
  }

  of(cluster: ClusterRecord): Promise<ClusterStatus> {
    const { id } = cluster;
    const known = this.#cached.get(id);
    if (known !== undefined && performance.now() < known.expiresAt) return known.status;
    const isNewest = () => this.#cached.get(id) === entry;
    const entry: CachedStatus = { status: this.#options.read(cluster, isNewest), expiresAt: Number.POSITIVE_INFINITY };
    this.#cached.set(id, entry);
    const done = () => {
      entry.expiresAt = performance.now() + this.#options.holdMs;
    };
    entry.status.then(done, done);
    return entry.status;
  }

  /** Discards the cached status after a change of the cluster. */
  invalidate(clusterId: string): void {
    this.#cached.delete(clusterId);
  }
}
