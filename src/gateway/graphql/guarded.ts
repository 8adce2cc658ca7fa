import type { RightsGuard } from '../../platform/auth/rights-guards.ts';
import type { ProjectRole, Viewer } from '../../platform/auth/viewer.ts';
import { requireSignedIn } from '../../platform/auth/viewer.ts';
import type { RequestContext, Services } from '../context.ts';
import { LiveSource } from '../live/live-source.ts';

type Opened<Event> = LiveSource<Event> | Promise<LiveSource<Event>>;

/**
 * Opens a source that ends with the caller's permissions: `check` is called now and whenever they change, and its error
 * refuses or ends the stream.
 */
export async function guarded<Event>(
  { viewer, services }: RequestContext,
  check: (viewer: Viewer | null) => void,
  open: (signal: AbortSignal) => Opened<Event>,
): Promise<GuardedSource<Event>> {
  const guard = services.auth.guards.guard(requireSignedIn(viewer), check);
  try {
    return new GuardedSource(await open(guard.signal), guard);
  } catch (error) {
    guard.stop();
    throw error;
  }
}

/** A `guarded` source of one broker: it ends when the caller no longer has the role, or the broker is deleted. */
export function guardedBroker<Event>(
  context: RequestContext,
  brokerId: string,
  open: (broker: ReturnType<Services['brokers']['visible']>, signal: AbortSignal) => Opened<Event>,
  role: ProjectRole = 'VIEWER',
): Promise<GuardedSource<Event>> {
  const { viewer, services } = context;
  const visible = (current: Viewer | null) => services.brokers.visible(brokerId, current, role);
  const broker = visible(viewer);
  return guarded(context, visible, (signal) => open(broker, signal));
}

export class GuardedSource<Event> extends LiveSource<Event> {
  readonly #source: LiveSource<Event>;
  readonly #guard: RightsGuard;

  constructor(source: LiveSource<Event>, guard: RightsGuard) {
    super();
    this.#source = source;
    this.#guard = guard;
  }

  get viewer(): Viewer {
    return this.#guard.viewer;
  }

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

  return(): Promise<IteratorReturnResult<undefined>> {
    this.#guard.stop();
    return this.#source.return();
  }
}

/** Objects of a project that a caller may see. Errors of `visible`: NOT_FOUND. */
interface VisibleObjects {
  visibleIn(projectId: string, viewer: Viewer | null): Iterable<{ readonly id: string }>;
  visible(id: string, viewer: Viewer | null): unknown;
}

/** A `guarded` source of all visible objects of a project: a caller may be restricted to others later. */
export function guardedProject<Event>(
  context: RequestContext,
  projectId: string,
  objects: VisibleObjects,
  open: (signal: AbortSignal) => Opened<Event>,
): Promise<GuardedSource<Event>> {
  const { services, viewer } = context;
  const check = (current: Viewer | null) => {
    services.projects.visible(projectId, current);
    if (current?.brokers == null) return;
    for (const { id } of objects.visibleIn(projectId, viewer)) objects.visible(id, current);
  };
  return guarded(context, check, open);
}
