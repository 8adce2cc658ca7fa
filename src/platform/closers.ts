import { within } from './scheduling/within.ts';

interface ClosersOptions {
  /** With it, no part is waited for longer than its bound. Default: all are waited for. */
  readonly log?: { warn(fields: object, text: string): void };
}

interface PartOptions {
  /** For the log. */
  readonly name?: string;
  /** Maximum duration of its closing. Default: CLOSE_MS, and LATER_MS after a part was late. */
  readonly maxMs?: number;
}

/** Also for a slow disk or a busy processor. */
const CLOSE_MS = 10_000;
/** Parts that follow a late one probably wait for the same, such as a database that does not respond. */
const LATER_MS = 1_000;

/**
 * Collects close functions and calls them in reverse order, both after a failed start and at shutdown. A part that is
 * late continues while the next ones close.
 */
export class Closers {
  readonly #options: ClosersOptions;
  readonly #closers: { readonly close: () => unknown; readonly options: PartOptions }[] = [];
  #defaultMs = CLOSE_MS;

  constructor(options: ClosersOptions = {}) {
    this.#options = options;
  }

  add(close: () => unknown, options: PartOptions = {}): void {
    this.#closers.push({ close, options });
  }

  keep<Part extends { close(): unknown }>(part: Part, options: PartOptions = {}): Part {
    this.add(() => part.close(), { name: part.constructor.name, ...options });
    return part;
  }

  readonly close = async (): Promise<void> => {
    for (let next = this.#closers.pop(); next; next = this.#closers.pop()) await this.#close(next.close, next.options);
  };

  async #close(close: () => unknown, { name = '', maxMs = this.#defaultMs }: PartOptions): Promise<void> {
    const { log } = this.#options;
    const closed = (async () => close())();
    if (log === undefined) {
      await closed;
      return;
    }
    const late = new Error('late');
    await within(maxMs, closed, () => late).catch((error: unknown) => {
      if (error !== late) throw error;
      this.#defaultMs = LATER_MS;
      log.warn({ part: name, maxMs }, 'a part did not close in time, and the next ones are closed');
      closed.catch((err: unknown) => log.warn({ err, part: name }, 'a part that was late failed to close'));
    });
  }
}
