import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { Lease, Leases } from '../../../platform/storage/leases/leases.ts';

/**
 * The lease of a broker has changed. Resolves when the work for the broker runs, or has ended. It may be called again
 * with false.
 */
type PlacementListener = (isHeld: boolean) => void | Promise<void>;

/** Decides which process runs what is stored for a broker: all of it in one process, which has the lease. */
export interface Placement {
  /** The brokers whose work runs in this process. */
  readonly held: readonly string[];
  /** Whether this process is the one for the broker, also if nothing is stored for it yet. */
  isMine(brokerId: string): boolean;
  want(brokerId: string, listener: PlacementListener): Lease;
}

/** The processes that brokers are spread over. */
interface Processes {
  /** Whether this process is the one for the broker. */
  isMine(brokerId: string): boolean;
  onChange(listener: () => void): void;
}

/** One process has all brokers. */
export class SolePlacement implements Placement {
  readonly #leases: Leases;
  readonly #wanted = new Map<Lease, string>();

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  get held(): string[] {
    return [...new Set([...this.#wanted].filter(([lease]) => lease.held).map(([, brokerId]) => brokerId))];
  }

  isMine(): boolean {
    return true;
  }

  want(brokerId: string, listener: PlacementListener): Lease {
    const lease = this.#leases.want(nameOf(brokerId), (isHeld) => void listener(isHeld));
    this.#wanted.set(lease, brokerId);
    return {
      get held() {
        return lease.held;
      },
      attempt: () => lease.attempt(),
      release: async () => {
        this.#wanted.delete(lease);
        await lease.release();
      },
    };
  }
}

/** Brokers that this process gives to others at the same time. Each ends its work first, within seconds. */
const MOVING_AT_ONCE = 4;

interface Wanter {
  readonly listener: PlacementListener;
}

interface PlacedBroker {
  readonly wanters: Set<Wanter>;
  lease: Lease | null;
  /** Its work is ending here, for another process. */
  isLeaving: boolean;
}

/**
 * Each process tries to acquire the leases of its own brokers only. A broker that belongs to another process now is
 * given away when its work has ended here. A broker of a process that is gone belongs to another one as soon as the
 * others have noticed.
 */
export class SharedPlacement implements Placement {
  readonly #leases: Leases;
  readonly #processes: Processes;
  readonly #brokers = new Map<string, PlacedBroker>();
  readonly #moves = new ConcurrencyLimit({ maxRunning: MOVING_AT_ONCE });

  constructor(leases: Leases, processes: Processes) {
    this.#leases = leases;
    this.#processes = processes;
    processes.onChange(() => {
      for (const brokerId of this.#brokers.keys()) this.#place(brokerId);
    });
  }

  get held(): string[] {
    return [...this.#brokers].filter(([, { lease }]) => lease?.held === true).map(([id]) => id);
  }

  isMine(brokerId: string): boolean {
    return this.#processes.isMine(brokerId);
  }

  want(brokerId: string, listener: PlacementListener): Lease {
    const wanter: Wanter = { listener };
    const broker = this.#brokers.get(brokerId) ?? { wanters: new Set(), lease: null, isLeaving: false };
    this.#brokers.set(brokerId, broker);
    broker.wanters.add(wanter);
    const isHeld = () => broker.wanters.has(wanter) && !broker.isLeaving && broker.lease?.held === true;
    queueMicrotask(() => {
      if (isHeld()) void listener(true);
    });
    this.#place(brokerId);
    return {
      get held() {
        return isHeld();
      },
      attempt: async () => {
        if (!broker.isLeaving) await broker.lease?.attempt();
        return isHeld();
      },
      release: async () => {
        broker.wanters.delete(wanter);
        if (broker.wanters.size > 0) return;
        if (this.#brokers.get(brokerId) === broker) this.#brokers.delete(brokerId);
        await broker.lease?.release();
      },
    };
  }

  #place(brokerId: string): void {
    const broker = this.#brokers.get(brokerId);
    if (broker === undefined || broker.isLeaving) return;
    if (this.#processes.isMine(brokerId)) {
      broker.lease ??= this.#leases.want(nameOf(brokerId), (isHeld) => {
        // Also while the broker waits to be given away, because its next process may start the work.
        if (!broker.isLeaving || !isHeld) void announce(broker, isHeld);
      });
    } else if (broker.lease !== null) {
      broker.isLeaving = true;
      void this.#moves.run(() => this.#giveAway(brokerId, broker, broker.lease));
    }
  }

  async #giveAway(brokerId: string, broker: PlacedBroker, lease: Lease | null): Promise<void> {
    // Also after the lease was lost: the work may still be ending.
    await announce(broker, false);
    await lease?.release();
    broker.lease = null;
    broker.isLeaving = false;
    // It may belong to this process again.
    this.#place(brokerId);
  }
}

async function announce({ wanters }: PlacedBroker, isHeld: boolean): Promise<void> {
  await Promise.all([...wanters].map(({ listener }) => listener(isHeld)));
}

const nameOf = (brokerId: string): string => `broker:${brokerId}`;
