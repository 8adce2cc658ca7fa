import { messageOf } from '../../../platform/errors.ts';
import { Backoff } from '../../../platform/scheduling/backoff.ts';
import { after, attempt, type ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { PageOptions } from '../../log/log-disk.ts';
import type { IdRange, StoredMessage } from '../../log/log-message.ts';
import { Entry, messageBytes } from './queue-entry.ts';
import { fromRecord } from './queue-record.ts';

interface QueueReaderOptions {
  readonly page: (range: IdRange, options: PageOptions) => ValueOrPromise<readonly StoredMessage[]>;
  readonly onRead: () => void;
  readonly onFailure: (reason: string) => void;
  /** After a failure: a page may be read again. */
  readonly onReadable: () => void;
}

export const AHEAD_MESSAGES = 1_000;
const PAGE = { reverse: false, limit: AHEAD_MESSAGES, maxBytes: 4 * 1_048_576 };
const BACKOFF = { firstMs: 100, longestMs: 5_000 };

/** Reads the stored messages of a queue in pages. After a failure, it says when to read again. */
export class QueueReader {
  readonly #options: QueueReaderOptions;
  readonly #backoff = new Backoff(BACKOFF);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: QueueReaderOptions) {
    this.#options = options;
  }

  /** The messages after this id, but `null` if they cannot be read now. */
  next(afterId: number): ValueOrPromise<readonly Entry[] | null> {
    const { page, onRead, onFailure, onReadable } = this.#options;
    return attempt<readonly Entry[] | null>(
      () =>
        after(page({ from: afterId + 1, to: Number.MAX_SAFE_INTEGER }, PAGE), (messages) => {
          this.#backoff.reset();
          onRead();
          return messages.map(({ id, payload }) => {
            const message = fromRecord(payload);
            return new Entry({ id, bytes: messageBytes(message), message }, 'DISK', null);
          });
        }),
      (error) => {
        onFailure(`Messages wait to be read: ${messageOf(error)}`);
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          onReadable();
        }, this.#backoff.next());
        return null;
      },
    );
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
