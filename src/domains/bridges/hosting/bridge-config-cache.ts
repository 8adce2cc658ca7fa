import type { Logger } from 'pino';
import type { BridgeConfig } from '../../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import { HostedRows } from '../../../protocol/hosting/hosted-rows.ts';
import type { BridgeConfigs } from '../control/bridge-configs.ts';

interface BridgeConfigCacheOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly log: Logger;
}

interface BridgeRow extends Omit<BridgeConfig, 'updatedAt'> {
  /** `<brokerId>/<bridge>`, which is also the context of the sealed configuration. */
  readonly id: string;
}

/** The configurations of the bridges that the gateway runs, for all brokers; sealed in the database and in memory. */
export class BridgeConfigCache extends HostedRows<BridgeRow> {
  readonly #rowsOf: (id: string) => Promise<BridgeRow[]>;
  readonly #db: Database;
  readonly #sealer: Sealer;
  readonly #opened = new WeakMap<BridgeRow, { readonly config: unknown }>();

  constructor({ db, sealer, changes, log }: BridgeConfigCacheOptions) {
    const rowsOf = async (id: string) => {
      const [brokerId = '', bridge = ''] = id.split('/');
      const rows = await db.bridgeConfig.findMany({ where: id === ANYTHING ? {} : { brokerId, bridge } });
      return rows.map(toRow);
    };
    super({ changes, log, kind: 'bridgeConfig', rowsOf });
    this.#rowsOf = rowsOf;
    this.#db = db;
    this.#sealer = sealer;
  }

  /**
   * Reads a configuration from the database, because a change of another process may not have arrived yet. Only the
   * lease holder writes it. Errors: those of the database.
   */
  async refresh(brokerId: string, bridge: string): Promise<void> {
    const id = `${brokerId}/${bridge}`;
    const [row] = await this.#rowsOf(id);
    if (row === undefined) this.drop(id);
    else this.put(row);
  }

  /** Errors of `get`: INTERNAL_ERROR if the configuration was sealed with another key. */
  of(brokerId: string, bridge: string): BridgeConfigs {
    const id = `${brokerId}/${bridge}`;
    return {
      get: () => this.#open(this.get(id)),
      trusted: () => {
        const stored = this.get(id)?.trustedAddresses ?? null;
        return stored === null ? null : new Set(JSON.parse(stored));
      },
      put: async (config, trusted) => {
        const trustedAddresses = JSON.stringify(trusted);
        const sealedConfig = this.#sealer.seal(JSON.stringify(config), id);
        const row = await this.#db.bridgeConfig
          .upsert({
            where: { brokerId_bridge: { brokerId, bridge } },
            create: { brokerId, bridge, sealedConfig, trustedAddresses },
            update: { sealedConfig, trustedAddresses },
          })
          .catch(missingAsNotFound('broker', brokerId));
        await this.written(toRow(row));
      },
      onChange: (listener) => this.follow((row) => row.id === id, listener),
    };
  }

  #open(row: BridgeRow | null): unknown {
    if (row === null) return null;
    const known = this.#opened.get(row);
    if (known !== undefined) return known.config;
    const config: unknown = JSON.parse(this.#sealer.open(row.sealedConfig, row.id));
    this.#opened.set(row, { config });
    return config;
  }
}

const toRow = ({ updatedAt: _updatedAt, ...row }: BridgeConfig): BridgeRow => ({
  ...row,
  id: `${row.brokerId}/${row.bridge}`,
});
