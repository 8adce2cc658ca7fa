import type { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import type { WorkerThread } from '../../../protocol/hosting/worker-thread.ts';
import type { TopicQuestions } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import type { RemoteTopicRecorderOptions } from '../recorder/remote-topic-recorder.ts';

/** What can be told to another thread. */
export type RecorderPlace = Omit<RemoteTopicRecorderOptions, 'iterationBatch' | 'onStopped' | 'onFault'>;

/** What the service and the thread of the topics tell each other. Recorders are told apart by numbers that are never used again. Opens one. */
export interface TopicOrder {
  readonly recorder: number;
  readonly place: RecorderPlace;
}

export type TopicThreadQuestion =
  | { readonly type: 'apply'; readonly recorder: number; readonly settings: TopicSettings }
  | {
      readonly type: 'ask';
      readonly recorder: number;
      readonly about: keyof TopicQuestions;
      /** Of that type. */
      readonly question: TopicQuestions[keyof TopicQuestions]['question'];
    }
  | { readonly type: 'close'; readonly recorder: number };

/** The recorder has stopped, since nobody asked: nothing is kept of what it recorded. */
export interface TopicNews {
  readonly recorder: number;
}

export type TopicWorkerThread = WorkerThread<TopicOrder, TopicThreadQuestion, TopicNews>;
export type TopicKeptThread = KeptThread<TopicOrder, TopicThreadQuestion, TopicNews>;
