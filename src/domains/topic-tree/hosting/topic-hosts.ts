import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, type ThreadVoice, type ThreadWork } from '../../../protocol/hosting/serve-thread.ts';
import { newIntake } from '../../../protocol/mqtt/intake.ts';
import type { TopicQuestions } from '../model/topic-recorder.ts';
import { RemoteTopicRecorder } from '../recorder/remote-topic-recorder.ts';
import type { TopicNews, TopicOrder, TopicThreadQuestion } from './topic-protocol.ts';

interface Host {
  readonly recorder: RemoteTopicRecorder;
  readonly lists: ConcurrencyLimit;
  /** Longest wait of whoever asks. */
  readonly timeoutMs: number;
}

/** Long lists of one recorder that are made at once: each may have megabytes, and all of the thread share its heap. */
const LISTS_AT_ONCE = 2;
const LISTS: ReadonlySet<keyof TopicQuestions> = new Set(['find', 'levels', 'changes']);

/** The recorders in this thread, each with its connection and its trees. */
export class TopicHosts implements ThreadWork<TopicOrder, TopicThreadQuestion> {
  readonly #voice: ThreadVoice<TopicNews>;
  readonly #iterationBatch = new IterationBatch(pauseShortIterations());
  readonly #intake = newIntake();
  readonly #hosts = new Map<number, Host>();

  constructor(voice: ThreadVoice<TopicNews>) {
    this.#voice = voice;
  }

  order({ recorder: number, place }: TopicOrder): void {
    const { tell, problem } = this.#voice;
    const { id: brokerId, timeoutMs } = place.local;
    const recorder = new RemoteTopicRecorder({
      ...place,
      local: { ...place.local, intake: this.#intake },
      iterationBatch: this.#iterationBatch,
      onStopped: () => tell({ recorder: number }),
      onFault: (error) => problem('error', { brokerId, reason: reasonOf(error) }, 'a recorder of topics failed'),
    });
    this.#hosts.set(number, { recorder, lists: new ConcurrencyLimit({ maxRunning: LISTS_AT_ONCE }), timeoutMs });
  }

  /** Errors: those of TopicRecorder; BROKER_TIMEOUT for a list that is not made when nobody waits for it any more. */
  async ask(asked: TopicThreadQuestion): Promise<unknown> {
    const host = this.#hosts.get(asked.recorder);
    if (asked.type === 'close') {
      this.#hosts.delete(asked.recorder);
      return host?.recorder.close();
    }
    if (host === undefined) throw new ServiceError('BROKER_UNREACHABLE', 'The recorder of topics was closed');
    const { recorder, lists, timeoutMs } = host;
    if (asked.type === 'apply') return recorder.apply(asked.settings);
    // The service says what TopicQuestions has, as it has it.
    const question = asked.question as never;
    if (!LISTS.has(asked.about)) return recorder.ask(asked.about, question);
    const until = performance.now() + timeoutMs;
    const assertAwaited = () => {
      if (performance.now() < until) return;
      throw new ServiceError('BROKER_TIMEOUT', 'It took too long to look through the topics');
    };
    return lists.run(async () => {
      assertAwaited();
      return recorder.ask(asked.about, question, assertAwaited);
    });
  }
}
