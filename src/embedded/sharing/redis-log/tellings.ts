import type { LogEntry, LogReader } from '../shared-log.ts';
import { type BatchHead, decodeBatch, decodeHead, encodeBatch, type WrittenEntry, writeEntry } from './batch-codec.ts';
import type { RedisLink } from './redis-link.ts';

/** What Redis has not taken yet; more is dropped. */
const MOST_BYTES = 16 * 1_048_576;

/**
 * What nobody waits for: all of one turn of the event loop is one message of a channel. It is heard by the nodes that are there now.
 *
 * Bound: 16 MiB that Redis has not taken; what comes then is dropped, and so is everything while there is no link.
 */
export class Tellings {
  readonly #head: BatchHead;
  readonly #onProblem: (problem: string) => void;
  #link: RedisLink | null = null;
  #entries: WrittenEntry[] = [];
  #bytes = 0;
  #isScheduled = false;

  constructor(head: Omit<BatchHead, 'number'>, onProblem: (problem: string) => void) {
    this.#head = { ...head, number: 0 };
    this.#onProblem = onProblem;
  }

  async attach(link: RedisLink, reader: LogReader): Promise<void> {
    await link.hear((message) => this.#hear(message, reader));
    this.#link = link;
  }

  detach(): void {
    this.#link = null;
    this.#entries = [];
    this.#bytes = 0;
  }

  tell(entry: LogEntry): void {
    if (!this.#link) return;
    const written = writeEntry(entry);
    if (this.#bytes + written.bytes > MOST_BYTES) return;
    this.#bytes += written.bytes;
    this.#entries.push(written);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const link = this.#link;
    const entries = this.#entries;
    if (!link || entries.length === 0) return;
    this.#entries = [];
    const message = encodeBatch(this.#head, entries);
    const bytes = entries.reduce((sum, written) => sum + written.bytes, 0);
    const taken = () => {
      if (this.#link === link) this.#bytes -= bytes;
    };
    // A link that is lost is noticed elsewhere.
    link.command('PUBLISH', link.keys.told, message).then(taken, taken);
  }

  #hear(message: Buffer, reader: LogReader): void {
    try {
      if (decodeHead(message).run === this.#head.run) return;
      const { nodeId, run, entries } = decodeBatch(message);
      const origin = { nodeId, run, isOwn: false };
      for (const entry of entries) reader.told(entry, origin);
    } catch (error) {
      this.#onProblem(`something that was told cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  }
}
