import { SETTING_KEYS, topicSettingIssues } from '../../../data-plane/topic-tree/control/topic-setting-issues.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import type { CacheParts } from '../../../platform/storage/changes/row-cache.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { HostedRows } from '../../../protocol/hosting/hosted-rows.ts';

interface SettingsRow {
  readonly id: string;
  readonly brokerId: string;
  readonly settings: TopicSettings;
}

/** The settings of the topic trees that the gateway records, for all brokers. */
export class TopicSettingsCache extends HostedRows<SettingsRow> {
  readonly #db: Database;

  constructor({ db, changes, log }: CacheParts) {
    super({
      changes,
      log,
      kind: 'topicTreeSettings',
      rowsOf: async (id) => {
        const rows = await db.topicTreeSettings.findMany({ where: id === ANYTHING ? {} : { brokerId: id } });
        return rows.map(({ brokerId, settings: text }) => {
          const { settings, isWhole } = readStoredSettings(text);
          if (!isWhole) log.warn({ brokerId }, 'stored settings of a topic tree are invalid: defaults replace them');
          return { id: brokerId, brokerId, settings };
        });
      },
    });
    this.#db = db;
  }

  /** Errors of `put`: NOT_FOUND if the broker does not exist. */
  of(brokerId: string): TopicSettingsStore {
    return {
      get: () => this.get(brokerId)?.settings ?? DEFAULT_TOPIC_SETTINGS,
      put: async (settings) => {
        const text = JSON.stringify(settings);
        const row = { where: { brokerId }, create: { brokerId, settings: text }, update: { settings: text } };
        await this.#db.topicTreeSettings.upsert(row).catch(missingAsNotFound('broker', brokerId));
        await this.written({ id: brokerId, brokerId, settings });
      },
      onChange: (listener) => this.follow((row) => row.id === brokerId, listener),
    };
  }
}

/** Reads settings that any version stored. Missing and invalid values become defaults. `isWhole`: none was invalid. */
export function readStoredSettings(text: string): { readonly settings: TopicSettings; readonly isWhole: boolean } {
  const stored = parseObject(text);
  const given = SETTING_KEYS.filter((key) => stored?.[key] !== undefined);
  const valid = given.filter((key) => topicSettingIssues({ [key]: stored?.[key] }).length === 0);
  const settings = { ...DEFAULT_TOPIC_SETTINGS, ...Object.fromEntries(valid.map((key) => [key, stored?.[key]])) };
  return { settings, isWhole: stored !== null && valid.length === given.length };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}
