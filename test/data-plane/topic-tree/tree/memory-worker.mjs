/** Fills a tree and sends its size, its bytes and its memory. Only the heap of a thread contains nothing else. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { TopicTree } from '../../../../src/data-plane/topic-tree/tree/topic-tree.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** Bytes of the heap, and outside of it, where rows are. */
function memory() {
  collectGarbage();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
}

const { count, at } = workerData;
const before = memory();
const tree = new TopicTree({ limit: count, maxBytes: 200e6, payloadLimit: 0 });
for (let index = 0; index < count; index += 1) {
  tree.record(`site/${index % 1_000}/device-${index}/sensor/temp`, at + index, 0, false, null);
}
const taken = memory() - before;
parentPort.postMessage({ size: tree.size, bytes: tree.bytes, taken });
