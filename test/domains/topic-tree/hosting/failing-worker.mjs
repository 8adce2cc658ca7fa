/** The thread of the topics as it is, but for one thing: to be asked for a topic that is called `fail` ends it. */
import { parentPort } from 'node:worker_threads';
import '../../../../dist/domains/topic-tree/hosting/topic-worker.js';

parentPort.on('message', ({ question }) => {
  if (question?.question?.topic === 'fail') throw new Error('a bug');
});
