/**
 * The pending changes. If a process is killed, the next one with this folder writes the missing entries. One line for
 * each begin and each end, without fsync: they survive a crash of the process but not a power failure.
 */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { UnchainedEntry } from './audit-chain.ts';

const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND } = constants;

const TRUNCATE_BYTES = 64 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;

export class AuditJournal {
  readonly #file: string;
  readonly #log: Logger;
  readonly #pending = new Map<string, string>();
  /** `null` after `close`: the system may reuse the number. */
  #fd: number | null;
  #bytes = 0;

  /** `dataDir` must be locked by this process. */
  constructor(dataDir: string, log: Logger) {
    this.#file = join(dataDir, 'audit-pending.jsonl');
    this.#log = log;
    for (const [id, line] of pendingLines(readIfPresent(this.#file) ?? '')) this.#pending.set(id, line);
    this.#fd = this.#rewritten();
  }

  pending(): UnchainedEntry[] {
    return [...this.#pending.values()].map((line) => {
      const entry = JSON.parse(line) as UnchainedEntry;
      return { ...entry, at: new Date(entry.at) };
    });
  }

  begin(entry: UnchainedEntry): void {
    const line = JSON.stringify(entry);
    this.#pending.set(entry.id, line);
    this.#write(line);
  }

  end(ids: Iterable<string>): void {
    const ended: string[] = [];
    for (const id of ids) if (this.#pending.delete(id)) ended.push(`"${id}"`);
    if (ended.length === 0 || this.#fd === null) return;
    if (this.#pending.size === 0 && this.#bytes > TRUNCATE_BYTES) this.#empty(this.#fd);
    else this.#write(ended.join('\n'));
  }

  close(): void {
    if (this.#fd === null) return;
    if (this.#pending.size === 0) this.#empty(this.#fd);
    closeSync(this.#fd);
    this.#fd = null;
  }

  #empty(fd: number): void {
    try {
      ftruncateSync(fd);
      this.#bytes = 0;
    } catch (error) {
      this.#log.error({ err: error }, 'could not empty the journal of the audit');
    }
  }

  /** Lines begin with the line break, so that a line truncated by a full disk stays separate. */
  #write(lines: string): void {
    if (this.#fd === null) {
      this.#log.error('a change began after the journal of the audit was closed');
      return;
    }
    try {
      this.#bytes += writeSync(this.#fd, `\n${lines}`);
      if (this.#bytes <= MAX_BYTES) return;
      const previous = this.#fd;
      this.#fd = this.#rewritten();
      closeSync(previous);
    } catch (error) {
      this.#log.error({ err: error }, 'could not write a change to the journal of the audit');
    }
  }

  #rewritten(): number {
    const draft = `${this.#file}.new`;
    const fd = openSync(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600);
    this.#bytes = 0;
    for (const line of this.#pending.values()) this.#bytes += writeSync(fd, `\n${line}`);
    renameSync(draft, this.#file);
    return fd;
  }
}

/** `null` if there is no file. */
export function readIfPresent(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Lines of changes that did not end. Invalid lines are skipped: a killed process may leave a truncated one. */
function pendingLines(text: string): Map<string, string> {
  const pending = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parsed = parsedLine(line);
    if (typeof parsed === 'string') pending.delete(parsed);
    else if (parsed !== null) pending.set(parsed.id, line);
  }
  return pending;
}

function parsedLine(line: string): string | UnchainedEntry | null {
  try {
    return JSON.parse(line) as string | UnchainedEntry;
  } catch {
    return null;
  }
}
