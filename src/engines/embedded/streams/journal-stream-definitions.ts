import type { KeptDefinition, StreamDefinitions } from '../../../domains/streams/definition/stream-definitions.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../../../domains/streams/model/stream-definition.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Journal } from '../store/journal.ts';

/** Stores stream definitions in the journal. There are no other writers, so `onChange` never fires. */
export class JournalStreamDefinitions implements StreamDefinitions {
  readonly #journal: Journal;
  readonly #definitions = new Map<string, KeptDefinition>();

  constructor(journal: Journal) {
    this.#journal = journal;
    for (const { id, about } of journal.rows<{ id: string; about: string }>(
      'SELECT id, about FROM stream ORDER BY position',
    )) {
      // Written by this class, possibly by an earlier version without some fields.
      const definition = { ...DEFAULT_DEFINITION, ...(JSON.parse(about) as StreamDefinition) };
      this.#definitions.set(id, { id, definition });
    }
  }

  all(): readonly KeptDefinition[] {
    return [...this.#definitions.values()];
  }

  byName(name: string): KeptDefinition | null {
    for (const stored of this.#definitions.values()) if (stored.definition.name === name) return stored;
    return null;
  }

  async save(stored: KeptDefinition): Promise<void> {
    const { id, definition } = stored;
    this.#definitions.set(id, stored);
    const sql = 'INSERT INTO stream (id, about) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET about = excluded.about';
    this.#journal.add(sql, id, JSON.stringify(definition));
    await this.#journal.commit();
  }

  async remove(id: string): Promise<void> {
    if (!this.#definitions.delete(id)) return;
    this.#journal.add('DELETE FROM stream WHERE id = ?', id);
    await this.#journal.commit();
  }

  onChange(): Stop {
    return () => {};
  }
}
