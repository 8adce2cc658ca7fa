import { ServiceError } from '../errors.ts';
import type { Leases } from '../storage/leases/leases.ts';
import { SerialQueues } from './serial-queues.ts';

const MAX_WAITING = 1_000;

interface LeasedMutexOptions {
  readonly leases: Leases;
  /** What the mutex protects, for error messages: `certificates of a broker`. */
  readonly name: string;
  readonly prefix: string;
  /** For another process. */
  readonly timeoutMs: number;
}

/**
 * Mutex per id over all processes. Errors: RATE_LIMITED if MAX_WAITING changes of the id wait already; IN_USE if
 * another process holds the lease for longer than `timeoutMs`; errors of the work.
 */
export class LeasedMutex {
  readonly #options: LeasedMutexOptions;
  readonly #queues = new SerialQueues();

  constructor(options: LeasedMutexOptions) {
    this.#options = options;
  }

  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#queues.waitingCount(id) >= MAX_WAITING) {
      throw new ServiceError('RATE_LIMITED', `Too many changes of ${this.#options.name} wait; try again in 5 s`, {
        info: { retryAfterSeconds: 5 },
      });
    }
    return this.#queues.run(id, () => this.#runLeased(id, work));
  }

  async #runLeased<T>(id: string, work: () => Promise<T>): Promise<T> {
    const { leases, name, prefix, timeoutMs } = this.#options;
    let settle: (isHeld: boolean) => void = () => undefined;
    const acquired = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    const lease = leases.want(`${prefix}:${id}`, (isHeld) => settle(isHeld));
    const timer = setTimeout(() => settle(false), timeoutMs);
    try {
      if (!(await lease.attempt()) && !(await acquired)) {
        throw new ServiceError('IN_USE', `Another process changes ${name}; try again later`);
      }
      return await work();
    } finally {
      clearTimeout(timer);
      await lease.release();
    }
  }
}
