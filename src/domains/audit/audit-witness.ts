/**
 * What a process knows of the chain beside the database: the newest entry that it saw written, signed, in a file of its data folder. A
 * chain that does not have that entry any more was emptied or set back, which nobody can see in the database alone.
 *
 * The file is written beside the work, at most once in EVERY_MS and at the end, not for each entry: it may name one that is not the
 * newest. What cannot be written is logged once, and nothing waits for it.
 */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AuditMark } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { type ChainPlace, type ChainProblem, GENESIS, type Marks } from './audit-chain.ts';

const EVERY_MS = 1_000;

export class AuditWitness {
  readonly #file: string;
  readonly #marks: Marks;
  readonly #log: Logger;
  #place: ChainPlace | null = null;
  /** Of the file that was there at the start, if it is none of ours. */
  #problem: ChainProblem | null = null;
  #isWritten = true;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  /** Of a folder that this process owns. */
  constructor(dataDir: string, marks: Marks, log: Logger) {
    this.#file = join(dataDir, 'audit-witness.json');
    this.#marks = marks;
    this.#log = log;
    this.#read();
  }

  /** The newest entry that was seen written; null: none. */
  get place(): ChainPlace | null {
    return this.#place;
  }

  /** An entry that was written. */
  saw(place: ChainPlace): void {
    this.#place = place;
    this.#problem = null;
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#isWritten = false;
    this.#timer ??= setTimeout(() => this.#write(), EVERY_MS).unref();
  }

  /** The file gets a signature with the current key. */
  resign(): void {
    if (this.#place !== null) this.#writeSoon();
  }

  /** What the chain lacks, null: nothing. To be asked for before anything is written. */
  async problem(db: Database): Promise<ChainProblem | null> {
    return this.#problem ?? missingIn(db, this.#marks, this.#place);
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#write();
    await this.#writing;
  }

  #read(): void {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const mark = parsed(text);
    const seal = mark === null ? 'BAD' : this.#marks.check({ ...mark, name: 'witness' });
    if (mark !== null && seal === 'GOOD') {
      this.#place = { sequence: mark.sequence, hash: mark.hash };
      // A previous key is removed once the secrets of the database have the current one, and may be the file's.
      if (this.#marks.renewed({ ...mark, name: 'witness' })) this.#writeSoon();
    } else {
      const made = seal === 'BAD' ? 'is not as this service left it' : 'was made with another SECRET_KEY';
      this.#problem = { sequence: 0, reason: `the witness in the data folder ${made}` };
    }
  }

  #write(): void {
    this.#timer = null;
    const place = this.#place;
    if (this.#isWritten || place === null) return;
    this.#isWritten = true;
    const text = `${JSON.stringify(this.#marks.of('witness', place))}\n`;
    this.#writing = this.#writing
      .then(() => writeFile(`${this.#file}.new`, text, { mode: 0o600 }))
      .then(() => rename(`${this.#file}.new`, this.#file))
      .then(
        () => {
          this.#isFailing = false;
        },
        (error: unknown) => {
          if (!this.#isFailing) this.#log.warn({ err: error }, 'the witness of the audit cannot be written');
          this.#isFailing = true;
        },
      );
  }
}

/** Whether an entry that was written is there, or was removed because of its age, behind which a signed mark stands. */
export async function missingIn(db: Database, marks: Marks, place: ChainPlace | null): Promise<ChainProblem | null> {
  if (place === null || place.sequence === GENESIS.sequence) return null;
  const { sequence, hash } = place;
  const entry = await db.auditEntry.findUnique({ where: { sequence }, select: { hash: true } });
  if (entry?.hash === hash) return null;
  const start = await db.auditMark.findUnique({ where: { name: 'start' } });
  // Read after the entry: it may have been removed meanwhile.
  if (entry === null && start !== null && start.sequence >= sequence && marks.check(start) === 'GOOD') return null;
  return {
    sequence,
    reason:
      entry === null
        ? `the entry ${sequence}, which this process saw written, is not there: the audit was emptied or set back`
        : `the entry ${sequence} is another one than this process saw written: the audit was set back`,
  };
}

function parsed(text: string): AuditMark | null {
  try {
    const { sequence, hash, seal } = JSON.parse(text) as AuditMark;
    const isMark = typeof sequence === 'number' && typeof hash === 'string' && typeof seal === 'string';
    return isMark ? { name: 'witness', sequence, hash, seal } : null;
  } catch {
    return null;
  }
}
