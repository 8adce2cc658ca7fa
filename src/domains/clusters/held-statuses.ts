import type { ClusterRecord } from './model/cluster.ts';
import type { ClusterStatus } from './model/cluster-status.ts';

interface Asked {
  readonly status: Promise<ClusterStatus>;
  /** `performance.now()`; infinity: it is not complete yet. */
  until: number;
}

export interface HeldStatusesOptions {
  /** `isNewest`: nothing was done to the cluster since it was asked. */
  readonly ask: (cluster: ClusterRecord, isNewest: () => boolean) => Promise<ClusterStatus>;
  /** How long a status holds for all who ask, from when it is complete. */
  readonly holdMs: number;
}

/** How clusters are whose nodes have to be asked: one question at a time for all who want to know. */
export class HeldStatuses {
  readonly #options: HeldStatusesOptions;
  readonly #asked = new Map<string, Asked>();

  constructor(options: HeldStatusesOptions) {
    this.#options = options;
  }

  of(cluster: ClusterRecord): Promise<ClusterStatus> {
    const { id } = cluster;
    const known = this.#asked.get(id);
    if (known !== undefined && performance.now() < known.until) return known.status;
    const isNewest = () => this.#asked.get(id) === asked;
    const asked: Asked = { status: this.#options.ask(cluster, isNewest), until: Number.POSITIVE_INFINITY };
    this.#asked.set(id, asked);
    const done = () => {
      asked.until = performance.now() + this.#options.holdMs;
    };
    asked.status.then(done, done);
    return asked.status;
  }

  /** Something was done to it. */
  forget(clusterId: string): void {
    this.#asked.delete(clusterId);
  }
}
