import { ServiceError } from '../errors.ts';
import { Slots } from '../scheduling/slots.ts';
import type { Leases } from './leases.ts';

/** More than this waiting for one thing are refused. */
const MAX_WAITING = 50;

export interface LeasedTurnsOptions {
  readonly leases: Leases;
  /** Of what takes turns, for people and for the names of leases: as `certificates of a broker`. */
  readonly name: string;
  readonly prefix: string;
  /** Longest wait for another process, milliseconds. */
  readonly timeoutMs: number;
}

/**
 * One change of a thing at a time, over all processes: what is recorded of it then is in the order in which it was done. Errors:
 * RATE_LIMITED, IN_USE (another process is at it for longer than `timeoutMs`).
 */
export class LeasedTurns {
  readonly #options: LeasedTurnsOptions;
  readonly #slots = new Map<string, Slots>();

  constructor(options: LeasedTurnsOptions) {
    this.#options = options;
  }

  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#slots.get(id) ?? new Slots(1);
    this.#slots.set(id, slots);
    if ((slots.ahead ?? 0) >= MAX_WAITING) {
      throw new ServiceError('RATE_LIMITED', `Too many changes of ${this.#options.name} wait`, {
        info: { retryAfterSeconds: 5 },
      });
    }
    try {
      return await slots.run(() => this.#leased(id, work));
    } finally {
      if (slots.ahead === null) this.#slots.delete(id);
    }
  }

  async #leased<T>(id: string, work: () => Promise<T>): Promise<T> {
    const { leases, name, prefix, timeoutMs } = this.#options;
    let got: (held: boolean) => void = () => undefined;
    const told = new Promise<boolean>((resolve) => {
      got = resolve;
    });
    const lease = leases.want(`${prefix}:${id}`, (held) => got(held));
    const timer = setTimeout(() => got(false), timeoutMs);
    try {
      if (!(await lease.attempt()) && !(await told)) {
        throw new ServiceError('IN_USE', `Another process changes ${name}: try again in a moment`);
      }
      return await work();
    } finally {
      clearTimeout(timer);
      await lease.release();
    }
  }
}
