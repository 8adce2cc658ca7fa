/** A worker thread that uses 300 ms of processor time at once, so that its event loop stalls. */
import { processorMs } from './loop-watch.mjs';

setInterval(() => {}, 1_000);
setTimeout(() => {
  const end = processorMs() + 300;
  while (processorMs() < end);
}, 100);
