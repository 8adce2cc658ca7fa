import type { Logger } from 'pino';
import type { BridgeConfig } from '../../generated/sqlite/client.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import { ANYTHING, type Changes } from '../../storage/changes.ts';
import type { Database } from '../../storage/database.ts';
import { Directory } from '../../storage/directory.ts';
import { goneMeansNotFound } from '../../storage/prisma-errors.ts';
import type { Sealer } from '../../storage/sealed.ts';
import type { BridgeConfigs } from '../control/bridge-configs.ts';

export interface BridgeDirectoryOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly log: Logger;
}

interface BridgeRow extends Omit<BridgeConfig, 'updatedAt'> {
  /** `<brokerId>/<bridge>`. */
  readonly id: string;
}

const CHANGED = 'bridgeConfig';

/** The configurations of the bridges that this service runs, of all brokers: kept in the database, held in memory, sealed in both. */
export class BridgeDirectory {
  readonly #options: BridgeDirectoryOptions;
  readonly #directory: Directory<BridgeRow, BridgeRow>;
  readonly #configs = new Map<string, DatabaseBridgeConfigs>();
  readonly #listeners = new Set<(brokerId: string) => void>();

  constructor(options: BridgeDirectoryOptions) {
    const { db, changes, log } = options;
    this.#options = options;
    this.#directory = new Directory<BridgeRow, BridgeRow>({
      changes,
      log,
      kinds: [CHANGED],
      rowsOf: async (id) => {
        const [brokerId = '', bridge = ''] = id.split('/');
        const rows = await db.bridgeConfig.findMany({ where: id === ANYTHING ? {} : { brokerId, bridge } });
        return rows.map(toRow);
      },
      toEntry: (row) => row,
    });
    this.#directory.onChange((after, before) => {
      const row = after ?? before;
      if (row === null) return;
      this.#configs.get(row.id)?.changed();
      for (const listener of this.#listeners) listener(row.brokerId);
    });
  }

  load(): Promise<void> {
    return this.#directory.load();
  }

  of(brokerId: string, bridge: string): BridgeConfigs {
    const id = `${brokerId}/${bridge}`;
    const known = this.#configs.get(id);
    if (known !== undefined) return known;
    const made = new DatabaseBridgeConfigs({ ...this.#options, directory: this.#directory, brokerId, bridge });
    this.#configs.set(id, made);
    return made;
  }

  /** Tells of brokers that a bridge of was configured, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Its rows went with it. */
  brokerRemoved(brokerId: string): void {
    for (const row of this.#directory.all()) if (row.brokerId === brokerId) this.#directory.drop(row.id);
    for (const id of this.#configs.keys()) if (id.startsWith(`${brokerId}/`)) this.#configs.delete(id);
  }

  close(): Promise<void> {
    return this.#directory.close();
  }
}

interface DatabaseBridgeConfigsOptions extends BridgeDirectoryOptions {
  readonly directory: Directory<BridgeRow, BridgeRow>;
  readonly brokerId: string;
  readonly bridge: string;
}

/** Errors of `get`: INTERNAL_ERROR where what is kept was sealed with another key. */
class DatabaseBridgeConfigs implements BridgeConfigs {
  readonly #options: DatabaseBridgeConfigsOptions;
  /** What is kept, sealed with this. */
  readonly #context: string;
  readonly #id: string;
  readonly #listeners = new Set<() => void>();
  #opened: { readonly sealed: string; readonly config: unknown } | null = null;
  /** What this process wrote is being noted, which is no news. */
  #isOwn = false;

  constructor(options: DatabaseBridgeConfigsOptions) {
    this.#options = options;
    this.#id = `${options.brokerId}/${options.bridge}`;
    this.#context = this.#id;
  }

  get(): unknown {
    const { directory, sealer } = this.#options;
    const sealed = directory.get(this.#id)?.sealedConfig;
    if (sealed === undefined) return null;
    if (this.#opened?.sealed !== sealed) {
      this.#opened = { sealed, config: JSON.parse(sealer.open(sealed, this.#context)) };
    }
    return this.#opened.config;
  }

  async put(config: unknown): Promise<void> {
    const { db, changes, sealer, directory, brokerId, bridge } = this.#options;
    const sealedConfig = sealer.seal(JSON.stringify(config), this.#context);
    const row = await db.bridgeConfig
      .upsert({
        where: { brokerId_bridge: { brokerId, bridge } },
        create: { brokerId, bridge, sealedConfig },
        update: { sealedConfig },
      })
      .catch(goneMeansNotFound('broker', brokerId));
    this.#isOwn = true;
    try {
      directory.put(toRow(row));
    } finally {
      this.#isOwn = false;
    }
    await changes.announce(CHANGED, this.#id);
  }

  onChange(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The directory has it otherwise now. */
  changed(): void {
    if (!this.#isOwn) for (const listener of this.#listeners) listener();
  }
}

const toRow = ({ brokerId, bridge, sealedConfig }: BridgeConfig): BridgeRow => ({
  id: `${brokerId}/${bridge}`,
  brokerId,
  bridge,
  sealedConfig,
});
