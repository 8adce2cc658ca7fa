import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../domains/topic-tree/model/topic-settings.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Journal } from '../store/journal.ts';

const NAME = 'topic-tree';

/** Stores the topic settings in the journal. There are no other writers, so `onChange` never fires. */
export class JournalTopicSettings implements TopicSettingsStore {
  readonly #journal: Journal;
  #settings: TopicSettings;

  constructor(journal: Journal) {
    this.#journal = journal;
    const [row] = journal.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', NAME);
    // Written by this class, possibly by an earlier version without some fields.
    this.#settings = { ...DEFAULT_TOPIC_SETTINGS, ...(row && (JSON.parse(row.value) as Partial<TopicSettings>)) };
  }

  get(): TopicSettings {
    return this.#settings;
  }

  async put(settings: TopicSettings): Promise<void> {
    this.#settings = settings;
    const sql = 'INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)';
    this.#journal.add(sql, NAME, JSON.stringify(settings));
    await this.#journal.commit();
  }

  onChange(): Stop {
    return () => {};
  }
}
