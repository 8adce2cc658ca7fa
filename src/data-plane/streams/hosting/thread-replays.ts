import { isReplaying, type ReplayProgress } from '../model/stream-replay.ts';

interface ThreadReplay {
  progress: ReplayProgress;
  /** How often the thread failed while the replay ran, since it has published something. */
  failures: number;
  publishedAtFailure: number;
}

/** A replay that ends the thread each time would end all other streams with it. */
const MAX_FAILURES = 3;

/**
 * The running replays of jobs of one engine, by stream, which continue after a restart of its thread. A replay is given
 * up if the thread has failed MAX_FAILURES times while it ran and published nothing.
 */
export class ThreadReplays {
  readonly #running = new Map<string, ThreadReplay>();

  get all(): [streamId: string, replay: ReplayProgress][] {
    return [...this.#running].map(([id, { progress }]) => [id, progress]);
  }

  get(streamId: string): ReplayProgress | null {
    return this.#running.get(streamId)?.progress ?? null;
  }

  /** `null`: the engine knows of none, as after its restart. */
  report(streamId: string, replay: ReplayProgress | null): void {
    if (replay === null) return;
    if (!isReplaying(replay) || replay.jobId === null) {
      this.#running.delete(streamId);
      return;
    }
    const known = this.#running.get(streamId);
    if (known?.progress.jobId === replay.jobId) known.progress = replay;
    else this.#running.set(streamId, { progress: replay, failures: 0, publishedAtFailure: -1 });
  }

  remove(streamId: string): void {
    this.#running.delete(streamId);
  }

  /** The thread has failed: pauses the replays, or gives them up. */
  threadFailed(problem: string): void {
    for (const replay of this.#running.values()) {
      const { progress } = replay;
      if (progress.state !== 'RUNNING') continue;
      const hasPublished = progress.published > replay.publishedAtFailure;
      replay.failures = hasPublished ? 1 : replay.failures + 1;
      replay.publishedAtFailure = progress.published;
      const isGivenUp = replay.failures >= MAX_FAILURES;
      replay.progress = isGivenUp ? givenUp(progress, problem) : { ...progress, state: 'PAUSED', problem };
    }
  }
}

const givenUp = (progress: ReplayProgress, problem: string): ReplayProgress => ({
  ...progress,
  state: 'FAILED',
  endedAt: Date.now(),
  problem: `The streams failed ${MAX_FAILURES} times at the same message of the replay: ${problem}`,
});
