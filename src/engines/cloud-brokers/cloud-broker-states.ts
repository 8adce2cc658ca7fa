import type { Logger } from 'pino';
import { BROKER_PARTS, type BrokerCache, type BrokerRow } from '../../domains/brokers/broker-cache.ts';
import type { BrokerService } from '../../domains/brokers/broker-service.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../platform/scheduling/backoff.ts';
import { SerialQueues } from '../../platform/scheduling/serial-queues.ts';
import type { Database } from '../../platform/storage/database.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { RunningBroker } from '../../protocol/hosting/broker-engine.ts';

interface CloudBrokerStatesOptions {
  readonly db: Database;
  readonly brokers: BrokerService;
  readonly brokerCache: BrokerCache;
  readonly log: Logger;
}

/** A write that failed, until it is done again. */
interface Retry {
  readonly timer: NodeJS.Timeout;
  readonly backoff: Backoff;
}

const BACKOFF: BackoffTimes = { firstMs: 1_000, longestMs: 60_000 };

/**
 * Writes the states of the brokers of this process, those of one broker in order. A write that fails is repeated with
 * growing pauses, unless a later one of the broker replaces it.
 */
export class CloudBrokerStates {
  readonly #options: CloudBrokerStatesOptions;
  readonly #writes = new SerialQueues();
  /** By broker. */
  readonly #retries = new Map<string, Retry>();
  #isOwnWrite = false;
  #isClosed = false;

  constructor(options: CloudBrokerStatesOptions) {
    this.#options = options;
  }

  /** Whether the change of a row that listeners are notified of at the moment was written here. */
  get isOwnWrite(): boolean {
    return this.#isOwnWrite;
  }

  /**
   * `dataOf` is called after the previous writes of the broker, and again for each repetition. Resolves after the first
   * attempt, and never rejects.
   */
  async write(id: string, dataOf: () => Prisma.BrokerUpdateInput): Promise<void> {
    const { db, brokerCache, log } = this.#options;
    await this.#writes.run(id, async () => {
      const backoff = this.#endRetry(id);
      // If the broker was deleted meanwhile, there is no entry to update.
      if (brokerCache.get(id) === null) return;
      try {
        const row = await db.broker
          .update({ where: { id }, data: dataOf(), include: BROKER_PARTS })
          .catch(missingAsNotFound('broker', id));
        await this.#announce(row);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
        log.error({ err: error, brokerId: id }, 'the state of a broker could not be written');
        if (this.#isClosed) return;
        const timer = setTimeout(() => void this.write(id, dataOf), backoff.next()).unref();
        this.#retries.set(id, { timer, backoff });
      }
    });
  }

  /** Whether the last write of the broker has failed. */
  isUnwritten(id: string): boolean {
    return this.#retries.has(id);
  }

  /** Resolves when the last writes are done, or have failed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const id of [...this.#retries.keys()]) this.#endRetry(id);
    await this.#writes.idle();
  }

  /** Returns the backoff of the next failure. */
  #endRetry(id: string): Backoff {
    const retry = this.#retries.get(id);
    clearTimeout(retry?.timer);
    this.#retries.delete(id);
    return retry?.backoff ?? new Backoff(BACKOFF);
  }

  async #announce(row: BrokerRow): Promise<void> {
    // Listeners in this process are called before `announce` returns.
    this.#isOwnWrite = true;
    const announced = this.#options.brokers.announce(row);
    this.#isOwnWrite = false;
    await announced;
  }
}

/** The allocated ports, also of certificate deployments, so that devices find the broker again. */
export function allocatedPorts(
  brokerId: string,
  stored: readonly { readonly number: number; readonly port: number }[],
  { listeners }: RunningBroker,
): Prisma.BrokerUpdateInput {
  const before = new Map(stored.map(({ number, port }) => [number, port]));
  const known = listeners.flatMap((listener) => {
    const previous = before.get(listener.number);
    return previous === undefined ? [] : [{ ...listener, previous }];
  });
  const deployable = known.filter(({ tls }) => tls);
  return {
    listeners: {
      update: known
        .filter(({ port, previous }) => port !== previous)
        .map(({ number, port }) => ({ where: { brokerId_number: { brokerId, number } }, data: { port } })),
    },
    deployments: {
      // Negative ports are an intermediate step: a listener may have the previous port of another one.
      updateMany: [
        ...deployable.map(({ previous, port, host }) => ({
          where: { port: previous },
          data: { port: -port, bindAddress: host },
        })),
        ...deployable.map(({ port }) => ({ where: { port: -port }, data: { port } })),
      ],
    },
  };
}
