/**
 * The thread of all streams beside remote brokers, so that a busy stream delays nobody else's requests. A bug in it ends it with an error, and the
 * service starts it again.
 */
import { serveThread } from '../../../protocol/hosting/serve-thread.ts';
import { WorkerHosts } from './worker-hosts.ts';
import type { EngineNews, EngineOrder, EngineQuestion } from './worker-protocol.ts';

serveThread<EngineOrder, EngineQuestion, EngineNews>((voice) => {
  const hosts = new WorkerHosts(voice);
  return {
    order: ({ engine, options }) => hosts.open(engine, options),
    ask: (question) =>
      question.type === 'call'
        ? hosts.call(question.engine, question.method, question.args)
        : hosts.close(question.engine, question.forGood),
  };
});
