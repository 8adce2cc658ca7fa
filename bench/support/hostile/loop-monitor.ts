/**
 * Reports stalls of the main thread's event loop: `node --import loop-monitor.js program.js`. For each timer that is at
 * least MIN_STALL_MS late it writes a line `<stall> <waited>` in milliseconds to file descriptor 3. `waited` is the
 * time in which the thread waited for a processor (Linux, /proc/self/task/<tid>/schedstat), which the load of the
 * machine causes, not the program.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

const PERIOD_MS = 10;
const MIN_STALL_MS = 20;
const REPORTS = 3;

const waitedMs = openWaited();
let [last, waited] = [performance.now(), waitedMs()];
setInterval(() => {
  const [now, waitedNow] = [performance.now(), waitedMs()];
  const stall = now - last - PERIOD_MS;
  if (stall >= MIN_STALL_MS) report(`${stall.toFixed(0)} ${(waitedNow - waited).toFixed(0)}\n`);
  [last, waited] = [performance.now(), waitedNow];
}, PERIOD_MS).unref();

function report(line: string): void {
  try {
    writeSync(REPORTS, line);
  } catch {
    // The benchmark has exited.
  }
}

/** Returns a function for the waiting time of the main thread, whose id is the process id; 0 if it is unknown. */
function openWaited(): () => number {
  const buffer = Buffer.alloc(100);
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
    process.on('exit', () => closeSync(file));
    return () => Number(buffer.toString('latin1', 0, readSync(file, buffer, 0, 100, 0)).split(' ')[1]) / 1e6;
  } catch {
    return () => 0;
  }
}
