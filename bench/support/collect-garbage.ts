/** Preloaded in a process: collects the garbage of all its threads when it is sent `collect`. */
import { Session } from 'node:inspector/promises';
import { isMainThread } from 'node:worker_threads';

const COMMAND = JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' });

async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  const threads: string[] = [];
  session.on('NodeWorker.attachedToWorker', ({ params }) => threads.push(params.sessionId));
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  for (const sessionId of threads) {
    const response = new Promise<void>((resolve) => {
      session.once('NodeWorker.receivedMessageFromWorker', () => resolve());
    });
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message: COMMAND });
    await response;
  }
  await session.post('NodeWorker.disable');
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}

if (isMainThread) {
  process.on('message', async (message) => {
    if (message !== 'collect') return;
    await collectGarbage();
    process.send?.({ type: 'collected' });
  });
}
