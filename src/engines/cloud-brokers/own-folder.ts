import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { Logger } from 'pino';
import { BROKER_PARTS, type BrokerCache, type BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import type { BrokerService } from '../../domains/brokers/broker-service.ts';
import { ServiceError } from '../../platform/errors.ts';
import { within } from '../../platform/scheduling/within.ts';
import type { Database, Engine as DatabaseEngine } from '../../platform/storage/database.ts';
import { folderIdFile } from '../../platform/storage/folder/folder-id.ts';
import { folderLease } from '../../platform/storage/leases/lease-locks.ts';
import type { Lease, Leases } from '../../platform/storage/leases/leases.ts';
import { isNotFound } from '../../platform/storage/prisma-errors.ts';
import { orphanedFolders } from '../../protocol/hosting/orphaned-folders.ts';
import { endLeftOverIn } from '../mosquitto/mosquitto-broker.ts';

interface OwnFolderOptions {
  readonly id: string;
  readonly dataDir: string;
  readonly db: Database;
  readonly engine: DatabaseEngine;
  readonly leases: Leases;
  readonly brokers: BrokerService;
  readonly brokerCache: BrokerCache;
  readonly log: Logger;
}

/** Longer than the database needs to notice that the previous process on the folder is gone. */
const CLAIM_MS = 20_000;

/**
 * The data folder of this process, and the brokers whose data it has. A broker belongs to its folder, and so to the
 * process that has the folder.
 */
export class OwnFolder {
  readonly id: string;
  readonly host = hostname();
  readonly #options: OwnFolderOptions;
  #lease: Lease | null = null;

  constructor(options: OwnFolderOptions) {
    this.id = options.id;
    this.#options = options;
  }

  has({ type, folderId }: BrokerRecord): boolean {
    return type === 'CLOUD' && folderId === this.id;
  }

  pathOf(brokerId: string): string {
    return join(this.#options.dataDir, 'brokers', brokerId);
  }

  /**
   * Shows other processes that the process of this folder is there. It is only shown, not needed: brokers run on while
   * the database cannot be reached. `onRegained` is called when it can be reached again. Errors: IN_USE if the folder
   * is a copy of another one, whose process runs.
   */
  async claim(onRegained: () => void): Promise<void> {
    const { leases, dataDir } = this.#options;
    let isClaimed = false;
    const claimed = new Promise<void>((resolve) => {
      this.#lease = leases.want(folderLease(this.id), (isHeld) => {
        if (isHeld && isClaimed) onRegained();
        if (isHeld) resolve();
        isClaimed ||= isHeld;
      });
    });
    const text =
      `Another process runs the brokers of a folder with the id of the data folder ${dataDir}. If this folder is a copy, ` +
      `delete ${folderIdFile(dataDir)} and the folder "brokers" next to it`;
    await within(CLAIM_MS, claimed, () => new ServiceError('IN_USE', text));
  }

  async release(): Promise<void> {
    await this.#lease?.release();
  }

  /** Takes the brokers of earlier versions, which have no folder yet. With SQLite, all brokers are in this folder. */
  async adopt(): Promise<void> {
    const { db, engine, brokers, brokerCache, log } = this.#options;
    const others = brokerCache.all().filter((broker) => broker.type === 'CLOUD' && !this.has(broker));
    const here = others.filter(({ id }) => engine === 'sqlite' || existsSync(this.pathOf(id)));
    for (const { id, folderId } of here) {
      if (engine !== 'sqlite' && folderId !== null) {
        const text =
          'the files of a broker of another data folder are here: this folder is a copy, or lost its folder.id';
        log.warn({ brokerId: id, folderId, file: folderIdFile(this.#options.dataDir) }, text);
        continue;
      }
      try {
        const where = { id, folderId };
        await brokers.announce(await db.broker.update({ where, data: { folderId: this.id }, include: BROKER_PARTS }));
      } catch (error) {
        // It was deleted, or another process was faster.
        if (!isNotFound(error)) throw error;
      }
    }
  }

  /** Ends what a killed process has left, and deletes the files of brokers that were deleted while no process ran. */
  async clean(): Promise<void> {
    const { db, dataDir, brokerCache, log } = this.#options;
    const deleted = await db.deletedCloudBroker.findMany({ where: { folderId: this.id } });
    for (const { id } of deleted) await this.delete(id);
    await endLeftBrokers(join(dataDir, 'brokers'), (id) => brokerCache.get(id) !== null, log);
  }

  /**
   * Deletes the files of a broker without a row, if the broker was deleted. The files remain if the database has lost
   * the row, for example in a failover to a standby that lagged behind.
   */
  async delete(id: string): Promise<void> {
    const { db, log } = this.#options;
    const folder = this.pathOf(id);
    const where = { id, folderId: this.id };
    if ((await db.deletedCloudBroker.count({ where })) === 0) {
      log.warn({ brokerId: id, folder }, 'the database has lost a broker of this folder; its files are not deleted');
      return;
    }
    await endLeftOverIn(folder);
    await rm(folder, { recursive: true, force: true });
    await db.deletedCloudBroker.deleteMany({ where });
  }
}

/** Ends processes that a killed service has left in the folders of brokers, also of deleted ones. Never rejects. */
async function endLeftBrokers(folder: string, isThere: (id: string) => boolean, log: Logger): Promise<void> {
  try {
    const folders = await orphanedFolders(folder, () => false);
    const ended = await Promise.all(folders.map(endLeftOverIn));
    const left = folders.filter((_folder, index) => ended[index]);
    if (left.length > 0) log.warn({ folders: left }, 'ended brokers that an earlier run of this service had left');
    // An unknown folder may belong to another database that this service was meant to use, so it is not deleted.
    const unknown = folders.filter((one) => !isThere(basename(one)));
    if (unknown.length > 0) {
      const text = 'folders of brokers that this database does not have are kept; delete what is not needed';
      log.warn({ folders: unknown }, text);
    }
  } catch (error) {
    log.error({ err: error }, 'what an earlier run of this service left could not be looked for');
  }
}
