import type { KeptDefinition, StreamDefinitions } from '../../../domains/streams/definition/stream-definitions.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../../../domains/streams/model/stream-definition.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Journal } from '../store/journal.ts';

/** The streams of an embedded broker, in its journal, where nobody else writes. */
export class JournalStreamDefinitions implements StreamDefinitions {
  readonly #journal: Journal;
  readonly #kept = new Map<string, KeptDefinition>();

  constructor(journal: Journal) {
    this.#journal = journal;
    for (const { id, about } of journal.rows<{ id: string; about: string }>(
      'SELECT id, about FROM stream ORDER BY position',
    )) {
      // Written by this class, maybe before a field was added.
      const definition = { ...DEFAULT_DEFINITION, ...(JSON.parse(about) as StreamDefinition) };
      this.#kept.set(id, { id, definition });
    }
  }

  all(): readonly KeptDefinition[] {
    return [...this.#kept.values()];
  }

  byName(name: string): KeptDefinition | null {
    for (const kept of this.#kept.values()) if (kept.definition.name === name) return kept;
    return null;
  }

  async save(kept: KeptDefinition): Promise<void> {
    const { id, definition } = kept;
    this.#kept.set(id, kept);
    const sql = 'INSERT INTO stream (id, about) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET about = excluded.about';
    this.#journal.add(sql, id, JSON.stringify(definition));
    await this.#journal.commit();
  }

  async remove(id: string): Promise<void> {
    if (!this.#kept.delete(id)) return;
    this.#journal.add('DELETE FROM stream WHERE id = ?', id);
    await this.#journal.commit();
  }

  onChange(): Stop {
    return () => {};
  }
}
