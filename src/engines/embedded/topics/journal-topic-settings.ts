import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../domains/topic-tree/model/topic-settings.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Journal } from '../store/journal.ts';

/** In table `setting`. */
const NAME = 'topic-tree';

/** How an embedded broker records its topics: in its journal, where nobody else writes. */
export class JournalTopicSettings implements TopicSettingsStore {
  readonly #journal: Journal;
  #settings: TopicSettings;

  constructor(journal: Journal) {
    this.#journal = journal;
    const [row] = journal.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', NAME);
    // Written by this class, maybe before a field was added.
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
