import type { RightsCheck, RightsGuard } from '../../platform/auth/rights-guards.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { requireSignedIn } from '../../platform/auth/viewer.ts';
import type { RequestContext } from '../context.ts';
import { type LiveSource, nextOf } from '../live/live-source.ts';

/**
 * A subscription's source that lives as long as its rights: `check` throws what the caller would get, is asked again
 * whenever the caller's rights change, and its error then ends the stream.
 */
export async function guarded<Event>(
  { viewer, services }: RequestContext,
  check: (viewer: Viewer | null) => void,
  open: (signal: AbortSignal) => LiveSource<Event> | Promise<LiveSource<Event>>,
): Promise<GuardedSource<Event>> {
  const guard = services.auth.guard(requireSignedIn(viewer), check);
  try {
    return new GuardedSource(await open(guard.signal), guard);
  } catch (error) {
    guard.stop();
    throw error;
  }
}

/** Gives the guard back with the last event. */
export class GuardedSource<Event> implements LiveSource<Event> {
  readonly #source: LiveSource<Event>;
  readonly #guard: RightsGuard;

  constructor(source: LiveSource<Event>, guard: RightsGuard) {
    this.#source = source;
    this.#guard = guard;
  }

  /** The caller with the rights it has now. */
  get viewer(): Viewer {
    return this.#guard.viewer;
  }

  /** Aborts when the rights end; `take` then throws why. */
  get signal(): AbortSignal {
    return this.#guard.signal;
  }

  get isOver(): boolean {
    return this.#source.isOver;
  }

  take(): Event | null {
    try {
      const event = this.#source.take();
      if (event === null && this.#source.isOver) this.#guard.stop();
      return event;
    } catch (error) {
      this.#guard.stop();
      throw error;
    }
  }

  wait(wake: () => void): void {
    this.#source.wait(wake);
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    return nextOf<Event>(this);
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    this.#guard.stop();
    return this.#source.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** What a project has, as far as somebody sees it. Errors of `visible`: NOT_FOUND. */
interface Seen {
  visibleIn(projectId: string, viewer: Viewer | null): Iterable<{ readonly id: string }>;
  visible(id: string, viewer: Viewer | null): unknown;
}

/**
 * The check of those who follow what they see in a project: who was restricted to other brokers meanwhile would still follow what it saw at
 * the beginning.
 */
export function followsOnlySeen({ services, viewer }: RequestContext, projectId: string, seen: Seen): RightsCheck {
  return (current) => {
    services.projects.visible(projectId, current);
    if (current?.brokers == null) return;
    for (const { id } of seen.visibleIn(projectId, viewer)) seen.visible(id, current);
  };
}
