import type { Logger } from 'pino';
import { ServiceError } from '../errors.ts';
import { unknownCredential } from './secrets.ts';
import { rightsKey, type Viewer } from './viewer.ts';

/** Long-lived operations of one person or token, over all its connections: each keeps a queue and hears every event. */
const MAX_GUARDS = 10_000;
/** Rights are read again this often even if nobody tells of a change: a process that dies between its write and telling tells nobody. */
const NET_MS = 5 * 60_000;
/** A reading that no change asked for, and that failed, is tried again after this. */
const RETRY_MS = 5_000;

/** Throws what the caller would get if it asked now. */
export type RightsCheck = (viewer: Viewer | null) => void;

/** Ends when the rights that a long-lived operation was allowed with are gone. */
export interface RightsGuard {
  /** Aborted with the ServiceError that says why: UNAUTHORIZED (the credential ended) or NOT_ALLOWED. */
  readonly signal: AbortSignal;
  /** The caller with the rights it has now. */
  readonly viewer: Viewer;
  /** Safe to call twice. */
  stop(): void;
}

interface Guard {
  readonly check: RightsCheck;
  readonly controller: AbortController;
}

/** A session or token that long-lived operations were opened with. */
interface Watched {
  viewer: Viewer;
  readonly guards: Set<Guard>;
  timer: NodeJS.Timeout | undefined;
}

export interface RightsGuardsOptions {
  /** The caller with the rights that its credential has in the database; null: the credential has ended. */
  readonly read: (viewer: Viewer) => Promise<Viewer | null>;
  /** Whether nothing that the viewer was made from has changed since, as far as this process knows. */
  readonly isCurrent: (viewer: Viewer) => boolean;
  readonly log: Logger;
}

/**
 * Watches the rights that long-lived operations were allowed with.
 *
 * A credential is read once for a change, however many operations it has; then the check of each is run with what was read.
 * One credential is read at a time, so that no older reading comes last. Those that somebody is known to have changed come
 * first; the many that a change may concern, or that are read to be sure, wait for them.
 */
export class RightsGuards {
  readonly #options: RightsGuardsOptions;
  /** By credential. */
  readonly #watched = new Map<string, Watched>();
  /** How many guards each person or token has, by its id. */
  readonly #counts = new Map<string, number>();
  readonly #changed = new Set<Watched>();
  readonly #doubtful = new Set<Watched>();
  #reading: Promise<void> | null = null;

  constructor(options: RightsGuardsOptions) {
    this.#options = options;
  }

  /** Of all persons and tokens. */
  get count(): number {
    let count = 0;
    for (const { guards } of this.#watched.values()) count += guards.size;
    return count;
  }

  /** Errors: RATE_LIMITED for more than MAX_GUARDS at once. */
  guard(viewer: Viewer, check: RightsCheck): RightsGuard {
    this.#count(viewer.id);
    const watched = this.#watch(viewer);
    const guard: Guard = { check, controller: new AbortController() };
    watched.guards.add(guard);
    return {
      signal: guard.controller.signal,
      get viewer() {
        return watched.viewer;
      },
      stop: () => this.#drop(watched, guard),
    };
  }

  /** The credentials of these viewers changed, or the rights they have. */
  changed(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#watched.values()) if (concerns(watched.viewer)) this.#read(watched, this.#changed);
  }

  /** The rights of these viewers may have changed. */
  doubtful(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#watched.values()) if (concerns(watched.viewer)) this.#read(watched, this.#doubtful);
  }

  /** What checks look at beside the viewer has changed: all of them are run at once, with the viewers as they are. */
  recheck(concerns: (viewer: Viewer) => boolean): void {
    for (const watched of this.#watched.values()) if (concerns(watched.viewer)) this.#check(watched);
  }

  async close(): Promise<void> {
    for (const watched of this.#watched.values()) for (const guard of watched.guards) this.#drop(watched, guard);
    await this.#reading;
  }

  #count(id: string): void {
    const count = (this.#counts.get(id) ?? 0) + 1;
    if (count > MAX_GUARDS) {
      const info = { limit: MAX_GUARDS, actual: count };
      throw new ServiceError('RATE_LIMITED', 'Too many subscriptions at once', { info });
    }
    this.#counts.set(id, count);
  }

  #watch(viewer: Viewer): Watched {
    const known = this.#watched.get(viewer.credentialId);
    const watched = known ?? { viewer, guards: new Set(), timer: undefined };
    if (known === undefined) {
      this.#watched.set(viewer.credentialId, watched);
      this.#arm(watched);
    }
    // What the viewer was made from may have changed between its making and this moment, when nobody told this guard.
    const isCertain =
      known === undefined ? this.#options.isCurrent(viewer) : rightsKey(known.viewer) === rightsKey(viewer);
    if (!isCertain) this.#read(watched, this.#changed);
    return watched;
  }

  #drop(watched: Watched, guard: Guard): void {
    if (!watched.guards.delete(guard)) return;
    const { id, credentialId } = watched.viewer;
    const left = (this.#counts.get(id) ?? 1) - 1;
    if (left > 0) this.#counts.set(id, left);
    else this.#counts.delete(id);
    if (watched.guards.size > 0) return;
    clearTimeout(watched.timer);
    this.#watched.delete(credentialId);
    this.#changed.delete(watched);
    this.#doubtful.delete(watched);
  }

  #end(watched: Watched, guard: Guard, reason: ServiceError): void {
    this.#drop(watched, guard);
    guard.controller.abort(reason);
  }

  #read(watched: Watched, queue: Set<Watched>): void {
    queue.add(watched);
    this.#reading ??= this.#readAll();
  }

  async #readAll(): Promise<void> {
    for (let next = this.#next(); next !== null; next = this.#next()) await this.#renew(next.watched, next.isChanged);
    this.#reading = null;
  }

  #next(): { readonly watched: Watched; readonly isChanged: boolean } | null {
    for (const watched of this.#changed) {
      this.#changed.delete(watched);
      this.#doubtful.delete(watched);
      return { watched, isChanged: true };
    }
    for (const watched of this.#doubtful) {
      this.#doubtful.delete(watched);
      return { watched, isChanged: false };
    }
    return null;
  }

  async #renew(watched: Watched, isChanged: boolean): Promise<void> {
    let viewer: Viewer | null = null;
    try {
      viewer = await this.#options.read(watched.viewer);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'rights could not be read again');
      // Where something has changed, a database that cannot be asked is no proof of rights.
      if (!isChanged) return this.#arm(watched, RETRY_MS);
    }
    if (viewer === null) {
      for (const guard of watched.guards) this.#end(watched, guard, unknownCredential());
      return;
    }
    watched.viewer = viewer;
    this.#arm(watched);
    this.#check(watched);
  }

  #check(watched: Watched): void {
    for (const guard of watched.guards) {
      try {
        guard.check(watched.viewer);
      } catch (error) {
        if (!(error instanceof ServiceError))
          this.#options.log.warn({ err: error }, 'rights could not be checked again');
        this.#end(watched, guard, endOfRights(error));
      }
    }
  }

  /** Has it read again when it expires, or after a while. */
  #arm(watched: Watched, afterMs = NET_MS): void {
    clearTimeout(watched.timer);
    // It may have been left by its last guard while it was being read.
    if (this.#watched.get(watched.viewer.credentialId) !== watched) return;
    const leftMs = Math.max(watched.viewer.expiresAt - Date.now(), 0) + 1;
    const queue = leftMs <= afterMs ? this.#changed : this.#doubtful;
    watched.timer = setTimeout(() => this.#read(watched, queue), Math.min(leftMs, afterMs));
    watched.timer.unref();
  }
}

/** Out of sight is NOT_FOUND for a new request; for what was allowed until now it is the end of a right. */
function endOfRights(error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) return unknownCredential();
  if (error.code !== 'NOT_FOUND') return error;
  return new ServiceError('NOT_ALLOWED', 'The rights that this was allowed with have ended', { cause: error });
}
