import { parentPort } from 'node:worker_threads';
import { ServiceError } from '../../platform/errors.ts';
import type { ServiceMessage, ThreadMessage, WireError } from './thread-protocol.ts';

/** What work in the thread tells the service unasked. */
export interface ThreadVoice<News> {
  tell(news: News): void;
  /** For its log. Problems told in a row may be many: those of one second are told once each, and at most 20. */
  problem(level: 'warn' | 'error', fields: object, text: string): void;
}

/** What is done in the thread. */
export interface ThreadWork<Order, Question> {
  order(order: Order): void;
  /** Errors: a ServiceError is the caller's; anything else is a bug, and INTERNAL_ERROR there. */
  ask(question: Question): Promise<unknown>;
}

const MAX_RECENT = 20;
const RECENT_MS = 1_000;

/** The inner side of a WorkerThread: to be called once, in the thread. A bug that nobody catches ends it with an error. */
export function serveThread<Order, Question, News>(
  start: (voice: ThreadVoice<News>) => ThreadWork<Order, Question>,
): void {
  const port = parentPort;
  if (!port) throw new Error('It runs as a worker thread');
  const send = (message: ThreadMessage<News>) => port.postMessage(message);

  const recent = new Set<string>();
  const problem = (level: 'warn' | 'error', fields: object, text: string) => {
    const key = `${text} ${JSON.stringify(fields)}`;
    if (recent.has(key) || recent.size > MAX_RECENT) return;
    recent.add(key);
    setTimeout(() => recent.delete(key), RECENT_MS).unref();
    send({ type: 'log', level, fields, text });
  };

  const wireError = (error: unknown): WireError => {
    if (error instanceof ServiceError) {
      const { code, message, info } = error;
      return info ? { code, message, info } : { code, message };
    }
    problem('error', { reason: reasonOf(error) }, 'a command failed in its thread');
    return { code: 'INTERNAL_ERROR', message: 'The command failed' };
  };

  const work = start({ tell: (news) => send({ type: 'news', news }), problem });
  port.on('message', (message: ServiceMessage<Order, Question>) => {
    if (message.type === 'order') work.order(message.order);
    else if (message.type === 'ask') {
      const { call, question } = message;
      work.ask(question).then(
        (value) => send({ type: 'answer', call, value }),
        (error: unknown) => send({ type: 'refusal', call, refusal: wireError(error) }),
      );
    } else port.close();
  });
}

/** For the log: where it came from, too. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
