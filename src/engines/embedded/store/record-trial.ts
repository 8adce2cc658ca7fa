import { setImmediate as turn } from 'node:timers/promises';
import type { Journal } from './journal.ts';
import type { Quarantine, RecordKind } from './quarantine.ts';

const NOTE = 'recordOnTrial';

interface Note {
  readonly kind: RecordKind;
  readonly clientId: string;
}

/**
 * Finds a stored record that ends the broker at its start. `suspicion` is the reason of repeated failures. Records are
 * then handled one after the other, and a note on disk names the current one. The next start moves it into quarantine.
 */
export class RecordTrial {
  readonly #journal: Journal;
  readonly #suspicion: string | null;

  constructor(journal: Journal, quarantine: Quarantine, suspicion: string | null) {
    this.#journal = journal;
    this.#suspicion = suspicion;
    const note = journal.setting<Note>(NOTE);
    if (!note) return;
    const detail = suspicion === null ? '' : `: ${suspicion}`;
    quarantine.move(note.kind, [note.clientId], `the broker ended whenever it handled this${detail}`);
    this.#clear();
  }

  get isOn(): boolean {
    return this.#suspicion !== null;
  }

  /** Calls `work` for one record, and waits two iterations of the event loop for its effects. */
  async run(kind: RecordKind, clientId: string, work: () => Promise<void>): Promise<void> {
    if (!this.isOn) {
      await work();
      return;
    }
    this.#journal.putSetting(NOTE, { kind, clientId } satisfies Note);
    this.#journal.flush();
    await work();
    await turn();
    await turn();
    this.#clear();
  }

  #clear(): void {
    this.#journal.add('DELETE FROM setting WHERE name = ?', NOTE);
    this.#journal.flush();
  }
}
