import type { StoredStream } from '../../../data-plane/streams/definition/stream-definitions.ts';
import type {
  ReplayCheckpoint,
  ReplayJob,
  ReplayProgress,
  ReplayRequest,
} from '../../../data-plane/streams/model/stream-replay.ts';
import type { ContinuedReplay, StoredReplays } from '../../../data-plane/streams/replay/stored-replays.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Job } from '../../jobs/job.ts';
import type { JobStore } from '../../jobs/job-store.ts';
import type { RunningJob } from '../../jobs/running-job.ts';

interface StoredRequest extends ReplayRequest {
  readonly streamName: string;
}

interface StoredProgress {
  /** That of ReplayProgress. */
  readonly id: number;
  readonly checkpoint: ReplayCheckpoint | null;
}

const KIND = 'STREAM_REPLAY';
const BUSY = 'A replay of this stream is running';

/** The stored jobs of the replays of one broker, in the process that runs its streams. */
export class ReplayJobs implements StoredReplays {
  readonly #store: JobStore;
  readonly #brokerId: string;
  /** By stream. */
  readonly #running = new Map<string, RunningJob>();
  /** Whether the replays of earlier processes run here. Until then, a row without a replay is yet to be continued. */
  #hasContinued = false;

  constructor(store: JobStore, brokerId: string) {
    this.#store = store;
    this.#brokerId = brokerId;
  }

  async begin({ id: subject, definition }: StoredStream, given: ReplayRequest): Promise<ReplayJob> {
    // The end of the last replay may not be stored yet.
    await this.#running.get(subject)?.flush();
    const request: StoredRequest = { ...given, streamName: definition.name };
    const insert = () => this.#store.begin({ kind: KIND, brokerId: this.#brokerId, subject, request }, BUSY);
    const running = await insert().catch(async (error: unknown) => {
      const isInUse = error instanceof ServiceError && error.code === 'IN_USE';
      if (!isInUse || !(await this.#endLost(subject))) throw error;
      return insert();
    });
    this.#running.set(subject, running);
    return { jobId: running.id, continued: null };
  }

  async discard(streamId: string): Promise<void> {
    const running = this.#running.get(streamId);
    this.#running.delete(streamId);
    await running?.discard();
  }

  async unfinished(isStream: (id: string) => boolean): Promise<readonly ContinuedReplay[]> {
    const found: ContinuedReplay[] = [];
    for (const { id, subject } of await this.#store.unfinished(KIND, this.#brokerId)) {
      if (this.#running.get(subject)?.id === id) continue;
      if (!isStream(subject)) {
        await this.#store.stop(KIND, this.#brokerId, subject);
        continue;
      }
      const continued = await this.#store.continue(id);
      if (continued === null) continue;
      this.#running.set(subject, continued.running);
      found.push(replayOf(continued.job));
    }
    this.#hasContinued = true;
    return found;
  }

  async continueWith(streamId: string, started: Promise<ReplayProgress>): Promise<void> {
    try {
      this.report(streamId, await started);
    } catch (error) {
      this.#running.delete(streamId);
      this.#hasContinued = false;
      throw error;
    }
  }

  report(streamId: string, replay: ReplayProgress | null): void {
    const running = this.#running.get(streamId);
    if (replay === null || running === undefined || replay.jobId !== running.id) return;
    const { id, state, checkpoint, published, total, problem, endedAt } = replay;
    const progress: StoredProgress = { id, checkpoint };
    const done = endedAt === null ? (checkpoint?.published ?? 0) : published;
    running.report({ state, done, total, progress, problem });
    if (endedAt === null) return;
    void running.flush().then(() => {
      if (running.isStored && this.#running.get(streamId) === running) this.#running.delete(streamId);
    });
  }

  async stop(streamId: string): Promise<void> {
    // The end of the last replay may not be stored yet.
    await this.#running.get(streamId)?.flush();
    await this.#store.stop(KIND, this.#brokerId, streamId);
  }

  /**
   * Ends a replay that no process runs: the database stored it and the response was lost, or it was refused and could
   * not be deleted. Returns whether there was one.
   */
  async #endLost(streamId: string): Promise<boolean> {
    if (!this.#hasContinued) return false;
    const own = this.#running.get(streamId)?.id;
    const stored = await this.#store.unfinished(KIND, this.#brokerId);
    const isLost = stored.some(({ id, subject }) => subject === streamId && id !== own);
    if (isLost) await this.#store.stop(KIND, this.#brokerId, streamId);
    return isLost;
  }

  async close(): Promise<void> {
    const all = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(all.map((running) => running.close()));
  }
}

function replayOf({ id: jobId, subject, request, progress, startedAt }: Job): ContinuedReplay {
  const { streamName: _streamName, ...replayRequest } = JSON.parse(request) as StoredRequest;
  const { id, checkpoint } = progress === null ? NOTHING : (JSON.parse(progress) as StoredProgress);
  return {
    streamId: subject,
    request: replayRequest,
    job: { jobId, continued: { id: id ?? startedAt.getTime(), startedAt: startedAt.getTime(), checkpoint } },
  };
}

const NOTHING = { id: null, checkpoint: null };
