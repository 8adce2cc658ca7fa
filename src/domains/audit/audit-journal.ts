/**
 * Changes that have begun and whose entries are not written yet, in a file of the data folder: a process that is killed in the middle
 * leaves them there, and the next one on the folder gives each the entry it lacks. One line for each begin, one for the end.
 *
 * Lines are handed to the system at once, and not brought to the disk: they outlive the process, not a loss of power. The file begins
 * anew when nothing is under way, at the latest after MAX_BYTES. What cannot be written there is logged, and the change goes on.
 */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { UnchainedEntry } from './audit-chain.ts';

/** Lines go to the end, wherever that is: behind a file that began anew, too. */
const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND } = constants;

/** Begins anew at the next moment in which nothing is under way … */
const TIDY_BYTES = 64 * 1024;
/** … or by what is under way alone. */
const MAX_BYTES = 16 * 1024 * 1024;

export class AuditJournal {
  readonly #file: string;
  readonly #log: Logger;
  readonly #open = new Map<string, string>();
  /** Null: closed. Its number is another file's from then on. */
  #fd: number | null;
  #bytes = 0;

  /** Of a folder that this process owns. */
  constructor(dataDir: string, log: Logger) {
    this.#file = join(dataDir, 'audit-pending.jsonl');
    this.#log = log;
    for (const [id, line] of unended(readOrNothing(this.#file))) this.#open.set(id, line);
    this.#fd = this.#rewritten();
  }

  /** What began before this process did. */
  left(): UnchainedEntry[] {
    return [...this.#open.values()].map((line) => {
      const entry = JSON.parse(line) as UnchainedEntry;
      return { ...entry, at: new Date(entry.at) };
    });
  }

  begin(entry: UnchainedEntry): void {
    const line = JSON.stringify(entry);
    this.#open.set(entry.id, line);
    this.#write(line);
  }

  end(ids: Iterable<string>): void {
    const ended: string[] = [];
    for (const id of ids) if (this.#open.delete(id)) ended.push(`"${id}"`);
    if (ended.length === 0 || this.#fd === null) return;
    if (this.#open.size === 0 && this.#bytes > TIDY_BYTES) this.#empty(this.#fd);
    else this.#write(ended.join('\n'));
  }

  close(): void {
    if (this.#fd === null) return;
    if (this.#open.size === 0) this.#empty(this.#fd);
    closeSync(this.#fd);
    this.#fd = null;
  }

  #empty(fd: number): void {
    try {
      ftruncateSync(fd);
      this.#bytes = 0;
    } catch (error) {
      this.#log.error({ err: error }, 'the changes that have ended could not be forgotten for the audit');
    }
  }

  /** Lines begin with their break: what a full disk cut off stays alone. */
  #write(lines: string): void {
    if (this.#fd === null) {
      this.#log.error('a change that began while the service ended could not be noted for the audit');
      return;
    }
    try {
      this.#bytes += writeSync(this.#fd, `\n${lines}`);
      if (this.#bytes <= MAX_BYTES) return;
      const before = this.#fd;
      this.#fd = this.#rewritten();
      closeSync(before);
    } catch (error) {
      this.#log.error({ err: error }, 'a change that began could not be noted for the audit');
    }
  }

  /** The file with nothing but what is under way. Its descriptor, for lines behind that. */
  #rewritten(): number {
    const draft = `${this.#file}.new`;
    const fd = openSync(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600);
    this.#bytes = 0;
    for (const line of this.#open.values()) this.#bytes += writeSync(fd, `\n${line}`);
    renameSync(draft, this.#file);
    return fd;
  }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** The last line may be cut: a process was killed while it wrote it. */
function unended(text: string): Map<string, string> {
  const open = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parsed = parsedLine(line);
    if (typeof parsed === 'string') open.delete(parsed);
    else if (parsed !== null) open.set(parsed.id, line);
  }
  return open;
}

function parsedLine(line: string): string | UnchainedEntry | null {
  try {
    return JSON.parse(line) as string | UnchainedEntry;
  } catch {
    return null;
  }
}
