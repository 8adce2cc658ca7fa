/** The worker of the topic recorders, which throws when the topic `fail` is requested. */
import { parentPort } from 'node:worker_threads';
import '../../../../src/data-plane/topic-tree/hosting/topic-worker.ts';

parentPort.on('message', ({ method, args }) => {
  if (method === 'query' && args[1].topic === 'fail') throw new Error('a bug');
});
