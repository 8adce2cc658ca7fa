import type { Logger } from 'pino';
import { ServiceError } from '../errors.ts';
import { unknownCredential } from './secrets.ts';
import { rightsKey, type Viewer } from './viewer.ts';

/** Of one user or token over all connections. Each operation has a queue and receives every event. */
const MAX_GUARDS = 10_000;
/** Rights are read again this often: a process that exits between a write and its notification announces no change. */
const REFRESH_MS = 5 * 60_000;
const RETRY_MS = 5_000;
/** Operations end if the database has not confirmed any rights for this time after a read was necessary. */
const UNCONFIRMED_MS = 10_000;

/** Throws the error that a new request of the viewer would receive. */
type RightsCheck = (viewer: Viewer | null) => void;

export interface RightsGuard {
  /**
   * Aborted with a ServiceError: UNAUTHORIZED (the credential ended), NOT_ALLOWED, or DATABASE_UNAVAILABLE.
   */
  readonly signal: AbortSignal;
  readonly viewer: Viewer;
  stop(): void;
}

interface Guard {
  readonly check: RightsCheck;
  readonly controller: AbortController;
}

type EndListener = (reason: ServiceError) => void;

interface WatchedCredential {
  viewer: Viewer;
  readonly guards: Set<Guard>;
  readonly endListeners: Set<EndListener>;
  timer: NodeJS.Timeout | undefined;
}

/** A class, because an object with an own getter has a shape of its own, which makes each read slow. */
class HeldGuard implements RightsGuard {
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly #watched: WatchedCredential;

  constructor({ controller }: Guard, watched: WatchedCredential, stop: () => void) {
    this.signal = controller.signal;
    this.stop = stop;
    this.#watched = watched;
  }

  get viewer(): Viewer {
    return this.#watched.viewer;
  }
}

interface RightsGuardsOptions {
  readonly read: (viewer: Viewer) => Promise<Viewer | null>;
  /** Whether this process has received no change of the rows from which the viewer was read. */
  readonly isCurrent: (viewer: Viewer) => boolean;
  readonly log: Logger;
}

/**
 * Watches the rights of long-lived operations, and the credentials of connections. After a change a credential is read
 * once, and the check of each of its operations runs with the result. One credential is read at a time, so an older
 * read never finishes last.
 */
export class RightsGuards {
  readonly #options: RightsGuardsOptions;
  readonly #watched = new Map<string, WatchedCredential>();
  readonly #counts = new Map<string, number>();
  readonly #changed = new Set<WatchedCredential>();
  readonly #possiblyChanged = new Set<WatchedCredential>();
  #reading: Promise<void> | null = null;
  #unconfirmed: NodeJS.Timeout | undefined;

  constructor(options: RightsGuardsOptions) {
    this.#options = options;
  }

  get count(): number {
    let count = 0;
    for (const { guards } of this.#watched.values()) count += guards.size;
    return count;
  }

  /**
   * `check` throws if the operation is no longer allowed. It runs again after each change of the viewer and when the
   * credential expires. Errors: RATE_LIMITED if the user or token already has MAX_GUARDS guards.
   */
  guard(viewer: Viewer, check: RightsCheck): RightsGuard {
    this.#count(viewer.id);
    const watched = this.#watch(viewer);
    const guard: Guard = { check, controller: new AbortController() };
    watched.guards.add(guard);
    return new HeldGuard(guard, watched, () => this.#drop(watched, guard));
  }

  /**
   * Calls `listener` once, after the operations of the credential have ended because it was revoked or has expired.
   * Returns how to stop. Listeners are not counted.
   */
  onCredentialEnd(viewer: Viewer, listener: EndListener): () => void {
    const watched = this.#watch(viewer);
    watched.endListeners.add(listener);
    return () => {
      if (watched.endListeners.delete(listener)) this.#forgetUnused(watched);
    };
  }

  changed(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#matching(concerns)) this.#read(watched, this.#changed);
  }

  possiblyChanged(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#matching(concerns)) this.#read(watched, this.#possiblyChanged);
  }

  /** Runs the checks immediately: data other than the viewer changed. */
  recheck(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#matching(concerns)) this.#check(watched);
  }

  async close(): Promise<void> {
    clearTimeout(this.#unconfirmed);
    for (const watched of this.#watched.values()) {
      watched.endListeners.clear();
      for (const guard of watched.guards) this.#drop(watched, guard);
      this.#forgetUnused(watched);
    }
    await this.#reading;
  }

  #matching(concerns: (viewer: Viewer) => boolean): WatchedCredential[] {
    return [...this.#watched.values()].filter(({ viewer }) => concerns(viewer));
  }

  #count(id: string): void {
    const actual = (this.#counts.get(id) ?? 0) + 1;
    if (actual > MAX_GUARDS) {
      const message = `Too many concurrent subscriptions: the limit is ${MAX_GUARDS}`;
      throw new ServiceError('RATE_LIMITED', message, { info: { limit: MAX_GUARDS, actual } });
    }
    this.#counts.set(id, actual);
  }

  #watch(viewer: Viewer): WatchedCredential {
    const known = this.#watched.get(viewer.credentialId);
    const watched = known ?? { viewer, guards: new Set(), endListeners: new Set(), timer: undefined };
    if (known === undefined) {
      this.#watched.set(viewer.credentialId, watched);
      this.#schedule(watched);
    }
    // The rights may have changed after the viewer was read and before this guard was registered.
    const isCurrent = known ? rightsKey(known.viewer) === rightsKey(viewer) : this.#options.isCurrent(viewer);
    if (!isCurrent) this.#read(watched, this.#changed);
    return watched;
  }

  #drop(watched: WatchedCredential, guard: Guard): void {
    if (!watched.guards.delete(guard)) return;
    const { id } = watched.viewer;
    const left = (this.#counts.get(id) ?? 1) - 1;
    if (left > 0) this.#counts.set(id, left);
    else this.#counts.delete(id);
    this.#forgetUnused(watched);
  }

  #forgetUnused(watched: WatchedCredential): void {
    if (watched.guards.size > 0 || watched.endListeners.size > 0) return;
    clearTimeout(watched.timer);
    this.#watched.delete(watched.viewer.credentialId);
    this.#changed.delete(watched);
    this.#possiblyChanged.delete(watched);
  }

  #end(watched: WatchedCredential, guard: Guard, reason: ServiceError): void {
    this.#drop(watched, guard);
    guard.controller.abort(reason);
  }

  #read(watched: WatchedCredential, queue: Set<WatchedCredential>): void {
    queue.add(watched);
    this.#reading ??= this.#readAll();
  }

  async #readAll(): Promise<void> {
    for (;;) {
      const [watched = this.#possiblyChanged.values().next().value] = this.#changed;
      if (watched === undefined) break;
      this.#possiblyChanged.delete(watched);
      await this.#renew(watched, this.#changed.delete(watched));
    }
    this.#reading = null;
  }

  async #renew(watched: WatchedCredential, isChanged: boolean): Promise<void> {
    let viewer: Viewer | null;
    // Not after a failure: a read at a database that cannot be reached takes long, and the others wait for it.
    this.#unconfirmed ??= setTimeout(() => this.#endUnconfirmed(), UNCONFIRMED_MS).unref();
    try {
      viewer = await this.#options.read(watched.viewer);
      clearTimeout(this.#unconfirmed);
      this.#unconfirmed = undefined;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'could not read the rights of a caller again');
      // After a change the rights are unknown while the database fails, so the operations end, but not the credential.
      if (isChanged) this.#endOperations(watched, unconfirmed());
      this.#schedule(watched, RETRY_MS);
      return;
    }
    if (viewer === null) {
      this.#endAll(watched);
      return;
    }
    watched.viewer = viewer;
    this.#schedule(watched);
    this.#check(watched);
  }

  #endUnconfirmed(): void {
    this.#unconfirmed = undefined;
    const reason = unconfirmed();
    for (const watched of [...this.#watched.values()]) this.#endOperations(watched, reason);
  }

  #endOperations(watched: WatchedCredential, reason: ServiceError): void {
    for (const guard of watched.guards) this.#end(watched, guard, reason);
  }

  #endAll(watched: WatchedCredential): void {
    const reason = unknownCredential();
    this.#endOperations(watched, reason);
    const listeners = [...watched.endListeners];
    watched.endListeners.clear();
    this.#forgetUnused(watched);
    for (const listener of listeners) listener(reason);
  }

  #check(watched: WatchedCredential): void {
    for (const guard of watched.guards) {
      try {
        guard.check(watched.viewer);
      } catch (error) {
        if (!(error instanceof ServiceError))
          this.#options.log.warn({ err: error }, 'could not check the rights of a caller again');
        this.#end(watched, guard, endOfRights(error));
      }
    }
  }

  /** Schedules the next read: when the credential expires, or after `afterMs`. */
  #schedule(watched: WatchedCredential, afterMs = REFRESH_MS): void {
    clearTimeout(watched.timer);
    // The last guard or listener may have been stopped during the read.
    if (this.#watched.get(watched.viewer.credentialId) !== watched) return;
    const leftMs = Math.max(watched.viewer.expiresAt - Date.now(), 0) + 1;
    const queue = leftMs <= afterMs ? this.#changed : this.#possiblyChanged;
    watched.timer = setTimeout(() => this.#read(watched, queue), Math.min(leftMs, afterMs));
    watched.timer.unref();
  }
}

function unconfirmed(): ServiceError {
  const message = 'Your rights could not be read again, because the database does not respond; subscribe again';
  return new ServiceError('DATABASE_UNAVAILABLE', message);
}

/** An operation that was allowed receives NOT_ALLOWED where a new request would receive NOT_FOUND. */
function endOfRights(error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) return unknownCredential();
  if (error.code !== 'NOT_FOUND') return error;
  const message = 'You no longer have the rights that this operation requires';
  return new ServiceError('NOT_ALLOWED', message, { cause: error });
}
