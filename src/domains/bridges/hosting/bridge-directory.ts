import type { Logger } from 'pino';
import type { BridgeConfig } from '../../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../../platform/storage/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { goneMeansNotFound } from '../../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../../platform/storage/sealed.ts';
import { HostedRows } from '../../../protocol/hosting/hosted-rows.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
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

/** The configurations of the bridges that this service runs, of all brokers: kept in the database, held in memory, sealed in both. */
export class BridgeDirectory {
  readonly #options: BridgeDirectoryOptions;
  readonly #rows: HostedRows<BridgeRow>;
  readonly #configs = new Map<string, DatabaseBridgeConfigs>();

  constructor(options: BridgeDirectoryOptions) {
    const { db, changes, log } = options;
    this.#options = options;
    this.#rows = new HostedRows<BridgeRow>({
      changes,
      log,
      kind: 'bridgeConfig',
      rowsOf: async (id) => {
        const [brokerId = '', bridge = ''] = id.split('/');
        const rows = await db.bridgeConfig.findMany({ where: id === ANYTHING ? {} : { brokerId, bridge } });
        return rows.map(toRow);
      },
    });
  }

  load(): Promise<void> {
    return this.#rows.load();
  }

  of(brokerId: string, bridge: string): BridgeConfigs {
    const id = `${brokerId}/${bridge}`;
    const known = this.#configs.get(id);
    if (known !== undefined) return known;
    const made = new DatabaseBridgeConfigs({ ...this.#options, rows: this.#rows, brokerId, bridge });
    this.#configs.set(id, made);
    return made;
  }

  /** Tells of brokers that a bridge of was configured, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop {
    return this.#rows.onChange(listener);
  }

  /** Its rows went with it. */
  brokerRemoved(brokerId: string): void {
    this.#rows.brokerRemoved(brokerId);
    for (const id of this.#configs.keys()) if (id.startsWith(`${brokerId}/`)) this.#configs.delete(id);
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}

interface DatabaseBridgeConfigsOptions extends BridgeDirectoryOptions {
  readonly rows: HostedRows<BridgeRow>;
  readonly brokerId: string;
  readonly bridge: string;
}

/** Errors of `get`: INTERNAL_ERROR where what is kept was sealed with another key. */
class DatabaseBridgeConfigs implements BridgeConfigs {
  readonly #options: DatabaseBridgeConfigsOptions;
  /** What is kept, sealed with this. */
  readonly #context: string;
  readonly #id: string;
  #opened: { readonly sealed: string; readonly config: unknown } | null = null;

  constructor(options: DatabaseBridgeConfigsOptions) {
    this.#options = options;
    this.#id = `${options.brokerId}/${options.bridge}`;
    this.#context = this.#id;
  }

  get(): unknown {
    const { rows, sealer } = this.#options;
    const sealed = rows.get(this.#id)?.sealedConfig;
    if (sealed === undefined) return null;
    if (this.#opened?.sealed !== sealed) {
      this.#opened = { sealed, config: JSON.parse(sealer.open(sealed, this.#context)) };
    }
    return this.#opened.config;
  }

  trusted(): ReadonlySet<string> | null {
    const stored = this.#options.rows.get(this.#id)?.trustedAddresses ?? null;
    return stored === null ? null : new Set(JSON.parse(stored));
  }

  async put(config: unknown, trusted: readonly string[]): Promise<void> {
    const trustedAddresses = JSON.stringify(trusted);
    const { db, sealer, rows, brokerId, bridge } = this.#options;
    const sealedConfig = sealer.seal(JSON.stringify(config), this.#context);
    const row = await db.bridgeConfig
      .upsert({
        where: { brokerId_bridge: { brokerId, bridge } },
        create: { brokerId, bridge, sealedConfig, trustedAddresses },
        update: { sealedConfig, trustedAddresses },
      })
      .catch(goneMeansNotFound('broker', brokerId));
    await rows.written(toRow(row));
  }

  onChange(listener: () => void): Stop {
    return this.#options.rows.follow(this.#id, listener);
  }
}

const toRow = ({ brokerId, bridge, sealedConfig, trustedAddresses }: BridgeConfig): BridgeRow => ({
  id: `${brokerId}/${bridge}`,
  brokerId,
  bridge,
  sealedConfig,
  trustedAddresses,
});
