import type { Logger } from 'pino';
import { ANYTHING, type Changes } from '../../../platform/storage/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { goneMeansNotFound } from '../../../platform/storage/prisma-errors.ts';
import { HostedRows } from '../../../protocol/hosting/hosted-rows.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings, type TopicSettingsStore } from '../model/topic-settings.ts';
import { readStoredSettings } from './stored-topic-settings.ts';

export interface TopicSettingsDirectoryOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

interface SettingsRow {
  /** The broker's. */
  readonly id: string;
  readonly brokerId: string;
  readonly settings: TopicSettings;
}

/** How topics are recorded beside brokers, of all of them: kept in the database, held in memory. */
export class TopicSettingsDirectory {
  readonly #options: TopicSettingsDirectoryOptions;
  readonly #rows: HostedRows<SettingsRow>;

  constructor(options: TopicSettingsDirectoryOptions) {
    const { db, changes, log } = options;
    this.#options = options;
    this.#rows = new HostedRows<SettingsRow>({
      changes,
      log,
      kind: 'topicTreeSettings',
      rowsOf: async (id) => {
        const rows = await db.topicTreeSettings.findMany({ where: id === ANYTHING ? {} : { brokerId: id } });
        return rows.map(({ brokerId, settings }) => this.#read(brokerId, settings));
      },
    });
  }

  load(): Promise<void> {
    return this.#rows.load();
  }

  /** Errors of `put`: NOT_FOUND where the broker is gone. */
  of(brokerId: string): TopicSettingsStore {
    return {
      get: () => this.#rows.get(brokerId)?.settings ?? DEFAULT_TOPIC_SETTINGS,
      put: (settings) => this.#put(brokerId, settings),
      onChange: (listener) => this.#rows.follow(brokerId, listener),
    };
  }

  /** Tells of brokers whose settings changed, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop {
    return this.#rows.onChange(listener);
  }

  /** Its row went with it. */
  brokerRemoved(brokerId: string): void {
    this.#rows.brokerRemoved(brokerId);
  }

  close(): Promise<void> {
    return this.#rows.close();
  }

  async #put(brokerId: string, settings: TopicSettings): Promise<void> {
    const text = JSON.stringify(settings);
    await this.#options.db.topicTreeSettings
      .upsert({
        where: { brokerId },
        create: { brokerId, settings: text },
        update: { settings: text },
      })
      .catch(goneMeansNotFound('broker', brokerId));
    await this.#rows.written({ id: brokerId, brokerId, settings });
  }

  #read(brokerId: string, text: string): SettingsRow {
    const { settings, isWhole } = readStoredSettings(text);
    if (!isWhole) {
      this.#options.log.warn({ brokerId }, 'stored settings of a topic tree cannot be used: defaults stand for them');
    }
    return { id: brokerId, brokerId, settings };
  }
}
