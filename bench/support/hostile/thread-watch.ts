import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoopReport } from './loop-monitor.ts';

/** The longest stall of a thread in milliseconds. */
export interface Stall {
  readonly thread: string;
  readonly ms: number;
  /** The longest one by the processor time of the thread, which the load of the machine does not change. */
  readonly ownMs: number;
}

const POLL_MS = 20;

/** What the thread does: `broker` of `broker 1`. */
export const kindOf = (thread: string): string => thread.split(' ')[0] ?? thread;

/** The threads of a product, as `loop-monitor.ts` reports them. */
export class ThreadWatch {
  readonly #tasks = new Map<string, string>();
  readonly #reportedAt = new Map<string, number>();
  #stalls = new Map<string, Stall>();
  #failed: string[] = [];
  #rest = '';

  constructor(reports: Readable) {
    reports.on('data', (data: Buffer) => {
      const lines = (this.#rest + data).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#received(JSON.parse(line));
    });
  }

  /** Folders in `/proc` of the threads of these kinds. Resolves when each kind has a thread. */
  async tasksOf(...kinds: readonly string[]): Promise<string[]> {
    const tasks = (kind: string) => [...this.#tasks].flatMap(([name, task]) => (kindOf(name) === kind ? [task] : []));
    while (kinds.some((kind) => tasks(kind).length === 0)) await delay(POLL_MS);
    return kinds.flatMap(tasks);
  }

  /** Resolves when each thread has reported that its event loop runs. A thread that does not has stalled that long. */
  async alive(timeoutMs: number): Promise<void> {
    const since = performance.now();
    const silent = () => [...this.#reportedAt].filter(([, at]) => at <= since).map(([thread]) => thread);
    while (silent().length > 0 && performance.now() < since + timeoutMs) await delay(POLL_MS);
    for (const thread of silent()) this.#stalled(thread, timeoutMs, timeoutMs);
  }

  observed(): { readonly stalls: readonly Stall[]; readonly failed: readonly string[] } {
    return { stalls: [...this.#stalls.values()], failed: this.#failed };
  }

  reset(): void {
    this.#stalls = new Map();
    this.#failed = [];
  }

  #received({ thread, task, stallMs = 0, usedMs = stallMs, end }: LoopReport): void {
    if (end === 'failed') this.#failed.push(thread);
    if (end !== undefined) {
      this.#tasks.delete(thread);
      this.#reportedAt.delete(thread);
      return;
    }
    if (task !== undefined) this.#tasks.set(thread, task);
    this.#reportedAt.set(thread, performance.now());
    this.#stalled(thread, stallMs, usedMs);
  }

  #stalled(thread: string, stallMs: number, usedMs: number): void {
    const { ms, ownMs } = this.#stalls.get(thread) ?? { ms: 0, ownMs: 0 };
    const own = Math.max(ownMs, Math.min(stallMs, usedMs));
    this.#stalls.set(thread, { thread, ms: Math.max(ms, stallMs), ownMs: own });
  }
}
