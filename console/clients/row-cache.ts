import type { RefusedError } from '../graph/refused.ts';
import type { Service } from '../graph/service.ts';
import { CLIENTS, type ClientPage, type ClientRow } from './operations.ts';
import type { Selection } from './selection.ts';

/** Rows in one request. */
export const PAGE_ROWS = 50;
/** Pages around the visible ones that stay, so that scrolling back shows rows at once. */
const MAX_PAGES = 12;
/** Shortest time between two readings of the same page, in milliseconds. */
const REST_MS = 250;
/** Share of the time in which the service may be busy with rereading the pages of one screen. */
const LOAD = 1 / 3;

export interface Rows {
  readonly page: Omit<ClientPage, 'nodes' | 'pageInfo'>;
  /** `undefined` until it is read. */
  readonly at: (index: number) => ClientRow | undefined;
}

interface CachedPage {
  readonly nodes: readonly ClientRow[];
  readonly version: number;
}

interface RowCacheOptions {
  readonly ask: Service['ask'];
  readonly brokerId: string;
  readonly selection: Selection;
  /** `rows`: `null` if none could be read yet. */
  readonly onRows: (rows: Rows | null, error: RefusedError | null) => void;
}

/**
 * The pages of a list of clients around the visible rows. It reads one page at a time: first those that are missing,
 * then those that are out of date.
 */
export class RowCache {
  readonly #options: RowCacheOptions;
  readonly #pages = new Map<number, CachedPage>();
  #wanted: readonly number[] = [0];
  #version = 0;
  #last: ClientPage | null = null;
  #isBusy = false;
  #restUntil = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: RowCacheOptions) {
    this.#options = options;
    void this.#work();
  }

  /** The rows that are visible now. */
  show(first: number, last: number): void {
    const page = Math.floor(first / PAGE_ROWS);
    const count = Math.floor(last / PAGE_ROWS) - page + 1;
    this.#wanted = Array.from({ length: count }, (_, index) => page + index);
    void this.#work();
  }

  /** Clients have changed, so the rows are read again. */
  outdate(): void {
    this.#version += 1;
    void this.#work();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #work(): Promise<void> {
    if (this.#isBusy || this.#isClosed) return;
    const missing = this.#wanted.find((page) => !this.#pages.has(page));
    const page = missing ?? this.#wanted.find((wanted) => this.#pages.get(wanted)?.version !== this.#version);
    if (page === undefined) return;
    const restMs = missing === undefined ? this.#restUntil - performance.now() : 0;
    clearTimeout(this.#timer);
    if (restMs > 0) {
      this.#timer = setTimeout(() => void this.#work(), restMs);
      return;
    }
    this.#isBusy = true;
    await this.#read(page);
    this.#isBusy = false;
    void this.#work();
  }

  async #read(number: number): Promise<void> {
    const { ask, brokerId, selection, onRows } = this.#options;
    const version = this.#version;
    const began = performance.now();
    const offset = number * PAGE_ROWS;
    const { data, error } = await ask(CLIENTS, { id: brokerId, ...selection, first: PAGE_ROWS, offset });
    if (this.#isClosed) return;
    const page = data?.broker?.connectedClients ?? null;
    const tookMs = performance.now() - began;
    this.#restUntil = performance.now() + Math.max(REST_MS, tookMs / LOAD - tookMs);
    if (page === null) {
      // Read again at the next change, not at once.
      this.#pages.set(number, { nodes: this.#pages.get(number)?.nodes ?? [], version });
    } else {
      this.#pages.set(number, { nodes: page.nodes, version });
      this.#last = page;
    }
    this.#evict();
    onRows(this.#last && { page: this.#last, at: (index) => this.#rowAt(index) }, error);
  }

  #rowAt(index: number): ClientRow | undefined {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.nodes[index % PAGE_ROWS];
  }

  #evict(): void {
    const [middle = 0] = this.#wanted;
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const page of far.slice(0, Math.max(0, far.length - MAX_PAGES))) this.#pages.delete(page);
  }
}
