import { ServiceError } from '../../errors.ts';
import { reasonOf, type ThreadVoice, type ThreadWork } from '../../hosting/serve-thread.ts';
import { Rests } from '../../mqtt/rests.ts';
import { Turns } from '../../mqtt/turns.ts';
import type { TopicRecorder } from '../model/topic-recorder.ts';
import { RemoteTopicRecorder } from '../recorder/remote-topic-recorder.ts';
import type { TopicNews, TopicOrder, TopicThreadQuestion } from './topic-protocol.ts';

/** The recorders in this thread, each with its connection and its trees. */
export class TopicHosts implements ThreadWork<TopicOrder, TopicThreadQuestion> {
  readonly #voice: ThreadVoice<TopicNews>;
  readonly #turns = new Turns(new Rests().afterTurn);
  readonly #recorders = new Map<number, TopicRecorder>();

  constructor(voice: ThreadVoice<TopicNews>) {
    this.#voice = voice;
  }

  order({ recorder, place }: TopicOrder): void {
    const { tell, problem } = this.#voice;
    const brokerId = place.local.id;
    this.#recorders.set(
      recorder,
      new RemoteTopicRecorder({
        ...place,
        turns: this.#turns,
        onStopped: () => tell({ recorder }),
        onFault: (error) => problem('error', { brokerId, reason: reasonOf(error) }, 'a recorder of topics failed'),
      }),
    );
  }

  /** Errors: those of TopicRecorder. */
  async ask(question: TopicThreadQuestion): Promise<unknown> {
    const recorder = this.#recorders.get(question.recorder);
    if (question.type === 'close') {
      this.#recorders.delete(question.recorder);
      return recorder?.close();
    }
    if (recorder === undefined) throw new ServiceError('BROKER_UNREACHABLE', 'The recorder of topics was closed');
    if (question.type === 'apply') return recorder.apply(question.settings);
    // The service says what TopicQuestions has, as it has it.
    return recorder.ask(question.about, question.question as never);
  }
}
