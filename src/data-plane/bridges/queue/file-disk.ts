import { existsSync } from 'node:fs';
import { diskFailure } from '../../../platform/storage/message-files/batch.ts';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import { AHEAD_BYTES, AHEAD_MESSAGES, nothingGone, type QueueContent, QueueDisk, type QueueRow } from './queue-disk.ts';
import { QueueFile, removeQueueFile } from './queue-file.ts';
import type { BrokerStorage } from './queue-storage.ts';

const EMPTY_BYTES = 4 * 1_048_576;

/**
 * The file of a queue, created with the first message on disk. The used storage is the size of the file, which does not
 * shrink until it is empty, or of the messages of the queue.
 */
export class FileDisk extends QueueDisk {
  readonly #path: string;
  #file: QueueFile | null = null;
  protected storedBytes = 0;

  constructor(path: string, storage: BrokerStorage | undefined) {
    super(storage);
    this.#path = path;
  }

  content(): QueueContent | null {
    if (!existsSync(this.#path)) return null;
    const file = this.#open();
    const tally = file.tally();
    this.storedBytes = file.size();
    return { ...tally, lastId: file.lastId() };
  }

  page(afterId: number): QueueRow[] {
    return this.#open().page(afterId, AHEAD_MESSAGES, AHEAD_BYTES);
  }

  write(batch: readonly QueueRow[], isQueueEmpty: boolean): void {
    if (batch.length > 0 || this.hasGone) {
      try {
        this.#open().change(batch, this.gone);
      } catch (error) {
        // A full disk has no room for a delete; if no message remains, the file is deleted instead.
        if (!isQueueEmpty || !this.#remove()) throw error;
      }
    }
    this.succeeded();
    this.gone = nothingGone();
    this.storedBytes = this.#file?.size() ?? 0;
    this.count();
    if (isQueueEmpty && this.storedBytes > EMPTY_BYTES && !this.isStopped) this.#remove();
  }

  /** Renames a damaged file. Other errors fail the disk. */
  setAside(error: unknown, lost: number): boolean {
    if (!isDamage(error) || this.#file === null) return this.failed(diskFailure(error));
    try {
      this.#file.close();
      setAside(this.#path);
    } catch (failure) {
      return this.failed(diskFailure(failure));
    }
    this.report(`${this.#path} is damaged and was set aside with ${lost} messages: ${(error as Error).message}`);
    this.#file = null;
    this.storedBytes = 0;
    this.gone = nothingGone();
    return true;
  }

  close({ remove }: { readonly remove: boolean }): void {
    try {
      this.#file?.close();
      if (remove) removeQueueFile(this.#path);
    } catch (error) {
      this.failed(diskFailure(error));
    }
    this.#file = null;
  }

  #open(): QueueFile {
    this.#file ??= QueueFile.open(this.#path, (reason) => this.report(reason));
    return this.#file;
  }

  /** False if the file cannot be deleted. */
  #remove(): boolean {
    const file = this.#file;
    this.#file = null;
    if (file === null) return false;
    try {
      file.close();
      removeQueueFile(this.#path);
    } catch (error) {
      return this.failed(diskFailure(error));
    }
    this.storedBytes = 0;
    this.count();
    return true;
  }
}
