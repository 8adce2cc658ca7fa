/**
 * Watches the event loop of the worker thread that imports it. Each stall is posted to the channel `stalls`, in
 * milliseconds. A stall is the time by which a timer is late, at most the processor time that the thread used
 * meanwhile: on a busy machine the thread waits for a processor, which is no stall of the broker.
 */
import { readFileSync } from 'node:fs';

const INTERVAL = 20;
/** Shorter ones are not posted. */
const SHORTEST = 50;

/** Processor time of this thread in milliseconds (proc_pid_schedstat(5) gives nanoseconds). */
export const processorMs = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;

const stalls = new BroadcastChannel('stalls');
stalls.unref();
let last = performance.now();
let used = processorMs();
setInterval(() => {
  const now = performance.now();
  const usedNow = processorMs();
  const stall = Math.min(now - last - INTERVAL, usedNow - used);
  if (stall > SHORTEST) stalls.postMessage(stall);
  last = now;
  used = usedNow;
}, INTERVAL).unref();
