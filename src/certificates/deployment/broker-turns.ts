import { ServiceError } from '../../errors.ts';
import { Slots } from '../../slots.ts';
import type { Leases } from '../../storage/leases.ts';

/** More than this waiting for one broker are refused. */
const MAX_WAITING = 50;

/**
 * One change of certificates at a time for each broker, over all processes: what is recorded then is in the order in which the broker
 * did it. Errors: RATE_LIMITED, IN_USE (another process is at it for longer than `timeoutMs`).
 */
export class BrokerTurns {
  readonly #leases: Leases;
  readonly #timeoutMs: number;
  readonly #slots = new Map<string, Slots>();

  constructor(leases: Leases, timeoutMs: number) {
    this.#leases = leases;
    this.#timeoutMs = timeoutMs;
  }

  async run<T>(brokerId: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#slots.get(brokerId) ?? new Slots(1);
    this.#slots.set(brokerId, slots);
    if ((slots.ahead ?? 0) >= MAX_WAITING) {
      throw new ServiceError('RATE_LIMITED', 'Too many deployments wait for this broker', {
        info: { retryAfterSeconds: 5 },
      });
    }
    try {
      return await slots.run(() => this.#leased(brokerId, work));
    } finally {
      if (slots.ahead === null) this.#slots.delete(brokerId);
    }
  }

  async #leased<T>(brokerId: string, work: () => Promise<T>): Promise<T> {
    let got: (held: boolean) => void = () => undefined;
    const told = new Promise<boolean>((resolve) => {
      got = resolve;
    });
    const lease = this.#leases.want(`certificates:${brokerId}`, (held) => got(held));
    const timer = setTimeout(() => got(false), this.#timeoutMs);
    try {
      if (!(await lease.attempt()) && !(await told)) {
        throw new ServiceError('IN_USE', 'Another process changes certificates of this broker: try again in a moment');
      }
      return await work();
    } finally {
      clearTimeout(timer);
      await lease.release();
    }
  }
}
