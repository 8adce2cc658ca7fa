/** The worker of the streams, which throws when a definition with the text name `fail` is put. */
import { parentPort } from 'node:worker_threads';
import '../../../../src/data-plane/streams/hosting/stream-worker.ts';

parentPort.on('message', ({ method, args }) => {
  if (method === 'put' && args[1].textName === 'fail') throw new Error('a bug');
});
