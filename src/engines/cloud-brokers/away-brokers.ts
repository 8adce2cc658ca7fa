import type { Logger } from 'pino';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { FOLDER_LEASE, isLeaseHeld } from '../../platform/storage/leases/lease-locks.ts';
import { UTC_NOW } from '../../platform/storage/utc-now.ts';

interface Processes {
  /** Whether processes that do not hold their leases are gone, and not only on their way back. */
  readonly isCalm: boolean;
  onChange(listener: () => void): void;
}

interface AwayBrokersOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly processes: Processes;
  readonly log: Logger;
}

/** A process may end without a change of the list of processes, for example in the middle of a stop. */
const CHECK_MS = 10_000;

/**
 * Notes at the brokers of other processes on one PostgreSQL that their process is gone. Each process does: the same
 * statement twice changes nothing. A process that was only cut off from the database writes the true state when it is
 * back.
 */
export class AwayBrokers {
  readonly #options: AwayBrokersOptions;
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AwayBrokersOptions) {
    this.#options = options;
    options.processes.onChange(() => this.#checkInOrder());
    this.#timer = setInterval(() => this.#checkInOrder(), CHECK_MS).unref();
    this.#checkInOrder();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#checking;
  }

  #checkInOrder(): void {
    this.#checking = this.#checking.then(async () => {
      try {
        if (!this.#isClosed && this.#options.processes.isCalm) await this.#check();
      } catch (error) {
        this.#options.log.debug({ err: error }, 'the brokers of other processes could not be checked');
      }
    });
  }

  async #check(): Promise<void> {
    const { db, changes } = this.#options;
    const marked = await db.$queryRaw<{ id: string }[]>`
      UPDATE "Broker" SET "awaySince" = ${UTC_NOW}, "updatedAt" = ${UTC_NOW},
        state = (CASE WHEN "targetState" = 'INACTIVE' THEN 'INACTIVE' ELSE 'ERROR' END)::"CloudBrokerState",
        problem = CASE WHEN "targetState" = 'INACTIVE' THEN NULL ELSE
          'The process on ' || coalesce(host, 'another machine') ||
          ' that runs this broker is gone or cannot reach the database. Start it again with its data folder' END
      WHERE type = 'CLOUD' AND "folderId" IS NOT NULL AND "awaySince" IS NULL
        AND NOT ${isLeaseHeld(`'${FOLDER_LEASE}' || "folderId"`)}
      RETURNING id`;
    for (const { id } of marked) await changes.announce('broker', id);
  }
}
