/** The thread of the streams as it is, but for one thing: a definition with the text name `fail` ends it. */
import { parentPort } from 'node:worker_threads';
import '../../../../dist/domains/streams/hosting/stream-worker.js';

parentPort.on('message', ({ question }) => {
  if (question?.method === 'put' && question.args[1].textName === 'fail') throw new Error('a bug');
});
