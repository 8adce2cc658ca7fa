/**
 * Watches the event loops of all threads of a service: `NODE_OPTIONS=--import=<this file>`. Appends each stall that
 * `loop-watch.mjs` posts to the file STALLS_FILE, one number of milliseconds in each line.
 */
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { isMainThread, Worker } from 'node:worker_threads';

const LOOP_WATCH = new URL('../mqtt/loop-watch.mjs', import.meta.url).href;

if (isMainThread) {
  workerThreads.Worker = class extends Worker {
    constructor(url, options) {
      super(url, { ...options, execArgv: [...(options?.execArgv ?? []), '--import', LOOP_WATCH] });
    }
  };
  syncBuiltinESMExports();
  const stalls = new BroadcastChannel('stalls');
  stalls.unref();
  stalls.onmessage = ({ data }) => appendFileSync(process.env.STALLS_FILE, `${Math.round(data)}\n`);
  await import(LOOP_WATCH);
}
