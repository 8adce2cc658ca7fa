import { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import type { WorkerLog } from '../../../protocol/hosting/worker-thread.ts';
import type { TopicRecorder } from '../model/topic-recorder.ts';
import { ThreadRecorder } from './thread-recorder.ts';
import type { RecorderPlace, TopicNews, TopicOrder, TopicThreadQuestion } from './topic-protocol.ts';

export interface TopicThreadOptions {
  /** The compiled worker; by default the one beside this file. */
  readonly workerUrl?: URL | undefined;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB; 512. Beyond it the thread ends and starts anew. Trees are beside the heap: each has its own bound. */
  readonly maxHeapMegabytes?: number;
  /** How long the thread, and with it memory that nothing uses any more, stays when no recorder is left; 5,000. */
  readonly lingerMs?: number;
}

/** The recorders of topics beside all brokers, in one thread that is there while there are any. */
export class TopicThread {
  readonly #thread: KeptThread<TopicOrder, TopicThreadQuestion, TopicNews>;
  readonly #recorders = new Set<ThreadRecorder>();

  constructor(options: TopicThreadOptions) {
    const workerUrl = options.workerUrl ?? new URL('./topic-worker.js', import.meta.url);
    const { log, maxHeapMegabytes, lingerMs = 5_000 } = options;
    this.#thread = new KeptThread({
      name: 'topics',
      workerUrl,
      log,
      maxHeapMegabytes,
      lingerMs,
      numberOf: ({ recorder }) => recorder,
    });
  }

  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /** Nothing happens until it is asked something, or settings are applied that have it always on. */
  open(place: RecorderPlace): TopicRecorder {
    const recorder: ThreadRecorder = new ThreadRecorder(this.#thread, place, () => this.#recorders.delete(recorder));
    this.#recorders.add(recorder);
    return recorder;
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#recorders].map((recorder) => recorder.close()));
    await this.#thread.close();
  }
}
