/**
 * Reports stalls of the event loops of all threads: `node --import loop-monitor.js program.js`. Each thread writes
 * lines (LoopReport as JSON) to file descriptor 3: for each timer that is at least MIN_STALL_MS late, and otherwise
 * every ALIVE_MS. A worker thread loads its modules in its first LOADING_MS, which is not measured.
 */
import { closeSync, openSync, readlinkSync, readSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { isMainThread, Worker, type WorkerOptions } from 'node:worker_threads';

export interface LoopReport {
  /** `main`, or the first word of the worker's name and its number, for example `broker 1`. */
  readonly thread: string;
  /** Folder of the thread in `/proc` (Linux). */
  readonly task?: string;
  readonly stallMs?: number;
  /** Processor time of the thread meanwhile. The load of the machine causes the rest of a stall. */
  readonly usedMs?: number;
  readonly end?: 'failed' | 'exited';
}

const PERIOD_MS = 10;
const MIN_STALL_MS = 20;
const ALIVE_MS = 200;
const LOADING_MS = 1_000;
const REPORTS = 3;

if (isMainThread) watchWorkers();
setTimeout(watchThread, isMainThread ? 0 : LOADING_MS).unref();

function watchWorkers(): void {
  let started = 0;
  workerThreads.Worker = class extends Worker {
    constructor(url: URL, options: WorkerOptions = {}) {
      started += 1;
      const thread = `${options.name?.split(' ')[0] ?? 'worker'} ${started}`;
      const monitor = `${import.meta.url}?thread=${encodeURIComponent(thread)}`;
      super(url, { ...options, execArgv: [...(options.execArgv ?? []), '--import', monitor] });
      this.once('error', () => report({ thread, end: 'failed' }));
      this.once('exit', () => report({ thread, end: 'exited' }));
    }
  };
  syncBuiltinESMExports();
}

function watchThread(): void {
  const thread = new URL(import.meta.url).searchParams.get('thread') ?? 'main';
  const [task, usedMs] = openUsed();
  let [last, used, reported] = [performance.now(), usedMs(), 0];
  setInterval(() => {
    const [now, usedNow] = [performance.now(), usedMs()];
    const stallMs = now - last - PERIOD_MS;
    if (stallMs >= MIN_STALL_MS || now - reported >= ALIVE_MS) {
      report({ thread, task, stallMs: Math.round(stallMs), usedMs: Math.round(usedNow - used) });
      reported = now;
    }
    [last, used] = [now, usedNow];
  }, PERIOD_MS).unref();
}

function report(line: LoopReport): void {
  try {
    writeSync(REPORTS, `${JSON.stringify(line)}\n`);
  } catch {
    // The benchmark has exited.
  }
}

/** Returns the folder of this thread, and a function for its processor time; all time counts if it is unknown. */
function openUsed(): [string, () => number] {
  const buffer = Buffer.alloc(100);
  try {
    const task = `/proc/${readlinkSync('/proc/thread-self')}`;
    const file = openSync(`${task}/schedstat`, 'r');
    process.on('exit', () => closeSync(file));
    return [task, () => Number(buffer.toString('latin1', 0, readSync(file, buffer, 0, 100, 0)).split(' ')[0]) / 1e6];
  } catch {
    return ['', () => performance.now()];
  }
}
