import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import {
  type AccessDialect,
  type AccessPolicy,
  DEFAULT_ACL_TYPES,
  type PolicyObjects,
} from '../../../protocol/apis/access-control/access-model.ts';
import { dialectOf } from '../../../protocol/apis/access-control/dynsec-control.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { TouchedObject } from '../writing/access-plan.ts';
import { AccessCheck, type CheckResult } from './access-check.ts';
import { AccessLists } from './access-lists.ts';
import { ACCESS_PARTS, type AccessPart, type ReadPart, readPart } from './access-parts.ts';
import { rereadObjects } from './reread-objects.ts';

/** Times in milliseconds. */
export interface AccessIndexOptions {
  readonly controls: ControlCaller;
  readonly session: Pick<BrokerSession, 'onStatus'>;
  readonly brokerVersion?: () => string | null;
  /** Maximum age of the cache if the broker has no change index. Default: 30,000. */
  readonly maxAgeMs?: number;
  /** Minimum time between two checks of the change index for `read`. Default: 1,000. */
  readonly checkMs?: number;
  /** Timeout of an update, including repeated reads. Default: 60,000. */
  readonly fillMs?: number;
  /** Maximum length of each list. Default: 200,000. Longer lists fail with TOO_LARGE. */
  readonly maxObjects?: number;
}

export interface AccessSnapshot {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
  /** Epoch milliseconds at which the policy was last known to be up to date. */
  readonly asOf: number;
  readonly changeIndex: number | null;
  readonly brokerVersion: string | null;
  readonly isSettled: boolean;
  readonly unreadable: number;
  readonly lists: AccessLists;
}

const MAX_READINGS = 3;
/** Above this number of touched objects the whole lists are read again. */
const MAX_REREAD = 2_000;
const IDLE_MS = 300_000;
/** A broker serves no other client while it writes a page. */
const PAGE_BYTES = 200_000;

type Parts = { [Part in AccessPart]: ReadPart<PolicyObjects[Part]> };

/**
 * The cached access control of one broker. A list is stale if the change index differs (Mosquitto 2.1), if another
 * client's write was seen, if its size differs, or after `maxAgeMs` without a change index. A list that changes while
 * it is read is read again, at most MAX_READINGS times. A lost connection and IDLE_MS without use clear the cache.
 *
 * Requests to the broker are serialized. 20,000 clients with a role and a group each take about 10 MB. Errors: those of
 * the ControlCaller, TOO_LARGE above `maxObjects`, BROKER_TIMEOUT after `fillMs`.
 */
export class AccessIndex {
  readonly #options: AccessIndexOptions;
  readonly #check: AccessCheck;
  readonly #stops: readonly Stop[];
  readonly #queue = new ConcurrencyLimit({ maxRunning: 1 });
  #parts: Parts = emptyParts();
  readonly #stale = new Set<AccessPart>(ACCESS_PARTS);
  #changeIndex: number | null = null;
  /** Epoch milliseconds of the last check; 0 if the next read must check. */
  #checkedAt = 0;
  #staleMarks = 0;
  #snapshot: AccessSnapshot | null = null;
  #generation = 0;
  #reading: Promise<AccessSnapshot> | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: AccessIndexOptions) {
    this.#options = options;
    this.#check = new AccessCheck(options.controls);
    this.#stops = [
      options.session.onStatus(() => this.invalidate()),
      this.#check.onForeignWrites((parts) => this.#markStale(parts)),
    ];
  }

  /**
   * Concurrent callers share one update.
   *
   * @param checkMs minimum time between two checks of the change index
   */
  async read(checkMs = this.#options.checkMs ?? 1_000): Promise<AccessSnapshot> {
    this.#keepAlive();
    if (this.#snapshot !== null && this.#isFresh(this.#snapshot, checkMs)) return this.#snapshot;
    this.#reading ??= this.#queue
      .run(() => this.#update())
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  /** Checks the broker for changes first. Errors: also BROKER_TIMEOUT if the policy changes during each read. */
  async current(): Promise<AccessSnapshot> {
    this.#keepAlive();
    const snapshot = await this.#queue.run(() => this.#update());
    if (snapshot.isSettled) return snapshot;
    throw new ServiceError('BROKER_TIMEOUT', 'The access control of the broker changes faster than it can be read');
  }

  /**
   * Reads the objects again that own writes touched. If a role or group was removed and created again, `touched` must
   * contain its former holders.
   */
  async refresh(touched: readonly TouchedObject[]): Promise<AccessSnapshot> {
    this.#keepAlive();
    return this.#queue.run(async () => {
      const snapshot = this.#snapshot;
      const named = touched.filter((object) => 'name' in object);
      if (snapshot === null || named.length > MAX_REREAD) {
        for (const { kind } of named) for (const part of TOUCHED_PARTS[kind]) this.#stale.add(part);
        return this.#update();
      }
      const generation = this.#generation;
      const staleMarks = this.#staleMarks;
      try {
        const { policy, lists } = snapshot;
        const { objects, unreadable, check } = await rereadObjects(this.#check, policy, () => lists.members, named);
        if (generation === this.#generation) {
          for (const part of ACCESS_PARTS)
            this.#parts = { ...this.#parts, [part]: { ...this.#parts[part], objects: objects[part] } };
          for (const part of unreadable) this.#stale.add(part);
          // The own writes changed the change index.
          this.#changeIndex = check.changeIndex;
          this.#compare(check);
          if (this.#stale.size === 0) return this.#createSnapshot(check, staleMarks);
        }
      } catch (error) {
        this.invalidate();
        throw error;
      }
      return this.#update();
    });
  }

  invalidate(): void {
    this.#generation += 1;
    this.#parts = emptyParts();
    this.#snapshot = null;
    this.#changeIndex = null;
    this.#check.reset();
    this.#markStale(ACCESS_PARTS);
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    if (this.#idle) clearTimeout(this.#idle);
    this.invalidate();
  }

  #keepAlive(): void {
    if (this.#closed) throw new ServiceError('BROKER_UNREACHABLE', 'The service closed its connection to the broker');
    if (this.#idle) this.#idle.refresh();
    else this.#idle = setTimeout(() => this.invalidate(), IDLE_MS).unref();
  }

  #markStale(parts: readonly AccessPart[]): void {
    this.#staleMarks += 1;
    this.#checkedAt = 0;
    for (const part of parts) this.#stale.add(part);
  }

  #isFresh({ isSettled, changeIndex }: AccessSnapshot, checkMs: number): boolean {
    const checkedMs = Date.now() - this.#checkedAt;
    // A policy that changes permanently is read at most this often.
    if (!isSettled) return checkedMs < (this.#options.checkMs ?? 1_000);
    if (this.#stale.size > 0) return false;
    return changeIndex === null ? this.#checkedAt > 0 && !this.#isOld(this.#oldest()) : checkedMs < checkMs;
  }

  async #update(): Promise<AccessSnapshot> {
    if (this.#changeIndex === null) {
      for (const part of ACCESS_PARTS) if (this.#isOld(this.#parts[part].readAt)) this.#stale.add(part);
    }
    const endsAt = Date.now() + (this.#options.fillMs ?? 60_000);
    for (let readings = 0; ; readings++) {
      const staleMarks = this.#staleMarks;
      const check = await this.#check.run();
      this.#compare(check);
      if (this.#stale.size === 0 || readings === MAX_READINGS) return this.#createSnapshot(check, staleMarks);
      for (const part of [...this.#stale]) await this.#readAgain(part, endsAt);
    }
  }

  async #readAgain(part: AccessPart, endsAt: number): Promise<void> {
    const { controls, maxObjects = 200_000 } = this.#options;
    const generation = this.#generation;
    this.#stale.delete(part);
    try {
      const { isSteady, ...read } = await readPart(controls, part, { maxObjects, pageBytes: PAGE_BYTES, endsAt });
      if (generation === this.#generation) this.#parts = { ...this.#parts, [part]: read };
      if (!isSteady || generation !== this.#generation) this.#stale.add(part);
    } catch (error) {
      this.#stale.add(part);
      throw error;
    }
  }

  #compare({ changeIndex, counts }: CheckResult): void {
    if (changeIndex !== this.#changeIndex) this.#markStale(ACCESS_PARTS);
    this.#changeIndex = changeIndex;
    for (const part of ACCESS_PARTS) {
      const { objects, unreadable } = this.#parts[part];
      const count = counts[part];
      if (count !== null && count !== objects.size + unreadable) this.#stale.add(part);
    }
  }

  /** If `#staleMarks` has grown since `staleMarks`, the responses may lack the noticed write. */
  #createSnapshot(
    { askedAt, details, changeIndex, defaultAcl, anonymousGroup }: CheckResult,
    staleMarks: number,
  ): AccessSnapshot {
    const { clients, groups, roles } = this.#parts;
    const objects = { clients: clients.objects, groups: groups.objects, roles: roles.objects };
    const before = this.#snapshot;
    const isSame =
      before !== null &&
      ACCESS_PARTS.every((part) => before.policy[part] === objects[part]) &&
      before.policy.anonymousGroup === anonymousGroup &&
      DEFAULT_ACL_TYPES.every((type) => before.policy.defaultAcl[type] === defaultAcl[type]);
    // The same policy object while nothing changes: other parts cache what they derive from it.
    const policy = isSame ? before.policy : { ...objects, defaultAcl, anonymousGroup };
    const brokerVersion = this.#options.brokerVersion?.() ?? null;
    const snapshot: AccessSnapshot = {
      policy,
      dialect: dialectOf(details, brokerVersion),
      asOf: changeIndex === null ? this.#oldest() : askedAt,
      changeIndex,
      brokerVersion,
      isSettled: this.#stale.size === 0,
      unreadable: clients.unreadable + groups.unreadable + roles.unreadable,
      lists: isSame ? before.lists : new AccessLists(policy),
    };
    this.#snapshot = snapshot;
    this.#checkedAt = staleMarks === this.#staleMarks ? askedAt : 0;
    return snapshot;
  }

  #isOld(readAt: number): boolean {
    return Date.now() - readAt >= (this.#options.maxAgeMs ?? 30_000);
  }

  #oldest(): number {
    return Math.min(...ACCESS_PARTS.map((part) => this.#parts[part].readAt));
  }
}

const TOUCHED_PARTS = {
  CLIENT: ['clients'],
  GROUP: ['groups', 'clients'],
  ROLE: ACCESS_PARTS,
} as const satisfies Record<string, readonly AccessPart[]>;

function emptyParts(): Parts {
  const read = { objects: new Map<string, never>(), unreadable: 0, readAt: 0 };
  return { clients: read, groups: read, roles: read };
}
