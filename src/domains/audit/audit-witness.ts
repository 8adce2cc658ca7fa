/**
 * A signed file with the newest committed entry. If the chain does not contain it, the chain was emptied or rolled
 * back. The file is written at most once in EVERY_MS, so it may contain an older entry.
 */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AuditMark } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { type ChainPosition, type ChainProblem, GENESIS, type Marks } from './audit-chain.ts';
import { readIfPresent } from './audit-journal.ts';

const EVERY_MS = 1_000;

export class AuditWitness {
  readonly #file: string;
  readonly #marks: Marks;
  readonly #log: Logger;
  /** The newest committed entry. */
  position: ChainPosition | null = null;
  #problem: ChainProblem | null = null;
  #isWritten = true;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(dataDir: string, marks: Marks, log: Logger) {
    this.#file = join(dataDir, 'audit-witness.json');
    this.#marks = marks;
    this.#log = log;
    this.#read();
  }

  committed(position: ChainPosition): void {
    this.position = position;
    this.#problem = null;
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#isWritten = false;
    this.#timer ??= setTimeout(() => this.#write(), EVERY_MS).unref();
  }

  resign(): void {
    if (this.position !== null) this.#writeSoon();
  }

  /** Call it before the first write. */
  async problem(db: Database): Promise<ChainProblem | null> {
    return this.#problem ?? findLostEntry(db, this.#marks, this.position);
  }

  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#write();
    await this.#writing;
  }

  #read(): void {
    const text = readIfPresent(this.#file);
    if (text === null) return;
    const mark = parsed(text);
    const seal = mark === null ? 'BAD' : this.#marks.check({ ...mark, name: 'witness' });
    if (mark !== null && seal === 'GOOD') {
      this.position = { sequence: mark.sequence, hash: mark.hash };
      // The file may have the previous key, which is removed once all secrets of the database have the current one.
      if (this.#marks.renewed({ ...mark, name: 'witness' })) this.#writeSoon();
    } else {
      const problem = seal === 'BAD' ? 'was changed' : 'was signed with another SECRET_KEY';
      this.#problem = { sequence: 0, reason: `the witness file in the data folder ${problem}` };
    }
  }

  #write(): void {
    this.#timer = null;
    const position = this.position;
    if (this.#isWritten || position === null) return;
    this.#isWritten = true;
    const text = `${JSON.stringify(this.#marks.of('witness', position))}\n`;
    this.#writing = this.#writing
      .then(() => writeFile(`${this.#file}.new`, text, { mode: 0o600 }))
      .then(() => rename(`${this.#file}.new`, this.#file))
      .then(
        () => {
          this.#isFailing = false;
        },
        (error: unknown) => {
          if (!this.#isFailing) this.#log.warn({ err: error }, 'could not write the witness file of the audit');
          this.#isFailing = true;
        },
      );
  }
}

/** `null` if the committed entry exists, or if the retention deleted it, which the signed start mark proves. */
export async function findLostEntry(
  db: Database,
  marks: Marks,
  committed: ChainPosition | null,
): Promise<ChainProblem | null> {
  if (committed === null || committed.sequence === GENESIS.sequence) return null;
  const { sequence, hash } = committed;
  const entry = await db.auditEntry.findUnique({ where: { sequence }, select: { hash: true } });
  if (entry?.hash === hash) return null;
  // Read after the entry, because the retention may delete the entry and move this mark between the two reads.
  const start = await db.auditMark.findUnique({ where: { name: 'start' } });
  if (entry === null && start !== null && start.sequence >= sequence && marks.check(start) === 'GOOD') return null;
  return {
    sequence,
    reason:
      entry === null
        ? `the committed entry ${sequence} is missing: the audit was emptied or rolled back`
        : `the entry ${sequence} differs from the committed one: the audit was rolled back`,
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
