import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession, Stop } from '../../../protocol/mqtt/broker-session.ts';
import {
  type AccessDialect,
  type AccessPolicy,
  DEFAULT_ACL_TYPES,
  type DefaultAcl,
  type Membership,
} from '../policy/access-model.ts';
import type { TouchedObject } from '../writing/access-plan.ts';
import { AccessCheck, type Told } from './access-check.ts';
import { AccessLists } from './access-lists.ts';
import { ACCESS_PARTS, type AccessPart, type PartObjects, type ReadPart, readPart } from './access-parts.ts';
import { dialectOf } from './dynsec-control.ts';
import { rereadObjects } from './reread-objects.ts';

/**
 * One broker's access control held in memory: filled when it is first asked for, read again when it may have changed.
 *
 * It may have changed when the broker's change index moved (Mosquitto 2.1; asked at most every `checkMs` for reading), when the
 * answer to somebody else's write was seen, when the sizes of its lists differ, or by age where there is no change index. A part
 * (clients, groups, roles) during whose reading something changed is read again, MAX_READINGS times at most. A lost connection
 * lets everything go, and so does `idleMs` without a question. Own writes are put in by `refresh`.
 *
 * One thing at a time is asked of the broker; whoever reads while that is done gets its result.
 * Bounds: `maxObjects` of each part (beyond: TOO_LARGE); 20,000 clients with a role and a group each take about 10 MB.
 * A filling that takes longer than `fillMs` is given up: BROKER_TIMEOUT.
 * Times in milliseconds. Errors: those of the caller, NOT_SUPPORTED_BY_BROKER without dynamic security among them.
 */
export interface AccessIndexOptions {
  readonly controls: ControlCaller;
  /** The link: what is known of a broker ends with the connection to it. */
  readonly session: Pick<BrokerSession, 'onStatus'>;
  /** `$SYS/broker/version`, as far as known. */
  readonly brokerVersion?: () => string | null;
  /** How old what is read may be where the broker has no change index. Default 30,000. */
  readonly maxAgeMs?: number;
  /** How long a change index holds for reading. Default 1000. */
  readonly checkMs?: number;
  /** Default 300,000. */
  readonly idleMs?: number;
  /** Longest filling, with all readings of what changed meanwhile. Default 60,000. */
  readonly fillMs?: number;
  /** Default 200,000. */
  readonly maxObjects?: number;
  /** Size that pages aim at. Default 200,000: a broker serves nobody else while it writes one. */
  readonly pageBytes?: number;
}

export interface AccessSnapshot {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
  /** Epoch milliseconds: what is here was so then. */
  readonly asOf: number;
  readonly changeIndex: number | null;
  /** By group: its accounts (`name`, sorted) with the group's priority in them. A group without members is not in it. */
  readonly members: ReadonlyMap<string, readonly Membership[]>;
  readonly brokerVersion: string | null;
  /** False: it changed whenever it was read, so parts of it may be of different moments. */
  readonly isSettled: boolean;
  /** Entries that the broker told in a way that nobody can read; they are missing. */
  readonly unreadable: number;
  readonly lists: AccessLists;
}

/** Readings of what changed while it was read, for one question. */
const MAX_READINGS = 3;
/** More objects than this are read again with all others of their kind. */
const MAX_REREAD = 2_000;

type Parts = { [Part in AccessPart]: ReadPart<PartObjects[Part]> };

export class AccessIndex {
  readonly #controls: ControlCaller;
  readonly #version: () => string | null;
  readonly #maxAgeMs: number;
  readonly #checkMs: number;
  readonly #idleMs: number;
  readonly #fillMs: number;
  readonly #bounds: { readonly maxObjects: number; readonly pageBytes: number };
  readonly #check: AccessCheck;
  readonly #stops: readonly Stop[];
  #parts: Parts = nothing();
  /** Parts that the broker may have otherwise. */
  readonly #stale = new Set<AccessPart>(ACCESS_PARTS);
  #changeIndex: number | null = null;
  /** When the broker was last asked whether it is still so; 0: ask before the next answer. */
  #checkedAt = 0;
  /** Counts what was seen of other people's writes. */
  #doubts = 0;
  #snapshot: AccessSnapshot | null = null;
  /** Counts losses of everything known. */
  #generation = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #reading: Promise<AccessSnapshot> | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  constructor({
    controls,
    session,
    brokerVersion = () => null,
    maxAgeMs = 30_000,
    checkMs = 1_000,
    idleMs = 300_000,
    fillMs = 60_000,
    maxObjects = 200_000,
    pageBytes = 200_000,
  }: AccessIndexOptions) {
    this.#controls = controls;
    this.#version = brokerVersion;
    this.#maxAgeMs = maxAgeMs;
    this.#checkMs = checkMs;
    this.#idleMs = idleMs;
    this.#fillMs = fillMs;
    this.#bounds = { maxObjects, pageBytes };
    this.#check = new AccessCheck(controls);
    this.#stops = [session.onStatus(() => this.invalidate()), this.#check.onForeignWrites((all) => this.#changed(all))];
  }

  /** Fresh enough for reading. Callers at the same time share one filling. */
  async read(): Promise<AccessSnapshot> {
    this.#used();
    if (this.#snapshot !== null && this.#isFresh(this.#snapshot)) return this.#snapshot;
    this.#reading ??= this.#queued(() => this.#freshen()).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** What the broker has now: asks at least whether anything changed. Errors: BROKER_TIMEOUT too, when it changes all the time. */
  async current(): Promise<AccessSnapshot> {
    this.#used();
    const snapshot = await this.#queued(() => this.#freshen());
    if (snapshot.isSettled) return snapshot;
    throw new ServiceError('BROKER_TIMEOUT', 'The access control of the broker changes faster than it can be read');
  }

  /**
   * After own writes: reads what they touched again. A role or group that is gone is taken from its holders; one that was deleted
   * and made again within the writes has to be told with the accounts and groups that held it.
   */
  async refresh(touched: readonly TouchedObject[]): Promise<AccessSnapshot> {
    this.#used();
    return this.#queued(async () => {
      const snapshot = this.#snapshot;
      const named = touched.filter((object) => 'name' in object);
      if (snapshot === null || named.length > MAX_REREAD) {
        for (const { kind } of named) for (const part of TOUCHED_PARTS[kind]) this.#stale.add(part);
        return this.#freshen();
      }
      const generation = this.#generation;
      const doubts = this.#doubts;
      try {
        const { policy } = snapshot;
        const { draft, unreadable, told } = await rereadObjects(this.#check, policy, () => snapshot.members, named);
        if (generation === this.#generation) {
          for (const part of ACCESS_PARTS)
            this.#parts = { ...this.#parts, [part]: { ...this.#parts[part], objects: draft[part] } };
          for (const part of unreadable) this.#stale.add(part);
          // The change index has moved by what was written here.
          this.#changeIndex = told.changeIndex;
          this.#compare(told);
          if (this.#stale.size === 0) return this.#take(told, doubts);
        }
      } catch (error) {
        this.invalidate();
        throw error;
      }
      return this.#freshen();
    });
  }

  /** Nothing that is known counts any more. */
  invalidate(): void {
    this.#generation += 1;
    this.#parts = nothing();
    this.#snapshot = null;
    this.#changeIndex = null;
    this.#check.forget();
    this.#changed(ACCESS_PARTS);
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    if (this.#idle) clearTimeout(this.#idle);
    this.invalidate();
  }

  #used(): void {
    if (this.#closed)
      throw new ServiceError('BROKER_UNREACHABLE', 'The access control of the broker is not read any more');
    if (this.#idle) this.#idle.refresh();
    else this.#idle = setTimeout(() => this.invalidate(), this.#idleMs).unref();
  }

  #changed(parts: readonly AccessPart[]): void {
    this.#doubts += 1;
    this.#checkedAt = 0;
    for (const part of parts) this.#stale.add(part);
  }

  #isFresh({ isSettled, changeIndex }: AccessSnapshot): boolean {
    const isChecked = Date.now() - this.#checkedAt < this.#checkMs;
    // Who changes all the time is not read all the time.
    if (!isSettled) return isChecked;
    if (this.#stale.size > 0) return false;
    return changeIndex === null ? this.#checkedAt > 0 && !this.#isOld(this.#oldest()) : isChecked;
  }

  /** One after the other, whatever becomes of each. */
  #queued<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    // Neither keeps what came out, which may be let go meanwhile.
    this.#tail = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  async #freshen(): Promise<AccessSnapshot> {
    if (this.#changeIndex === null) {
      for (const part of ACCESS_PARTS) if (this.#isOld(this.#parts[part].readAt)) this.#stale.add(part);
    }
    const endsAt = Date.now() + this.#fillMs;
    for (let readings = 0; ; readings++) {
      const doubts = this.#doubts;
      const told = await this.#check.ask();
      this.#compare(told);
      if (this.#stale.size === 0 || readings === MAX_READINGS) return this.#take(told, doubts);
      for (const part of [...this.#stale]) await this.#readAgain(part, endsAt);
    }
  }

  /** What changes from here on makes the part stale again. */
  async #readAgain(part: AccessPart, endsAt: number): Promise<void> {
    const generation = this.#generation;
    this.#stale.delete(part);
    try {
      const { isSteady, ...read } = await readPart(this.#controls, part, { ...this.#bounds, endsAt });
      if (generation === this.#generation) this.#parts = { ...this.#parts, [part]: read };
      if (!isSteady || generation !== this.#generation) this.#stale.add(part);
    } catch (error) {
      this.#stale.add(part);
      throw error;
    }
  }

  /** Finds out which parts are not as the broker has them now. */
  #compare({ changeIndex, counts }: Told): void {
    if (changeIndex !== this.#changeIndex) this.#changed(ACCESS_PARTS);
    this.#changeIndex = changeIndex;
    for (const part of ACCESS_PARTS) {
      const { objects, unreadable } = this.#parts[part];
      const count = counts[part];
      if (count !== null && count !== objects.size + unreadable) this.#stale.add(part);
    }
  }

  /** `doubts` as they were before the broker was asked: what was seen since may have come before its answer or after. */
  #take({ askedAt, details, changeIndex, defaultAcl, anonymousGroup }: Told, doubts: number): AccessSnapshot {
    const { clients, groups, roles } = this.#parts;
    const before = this.#snapshot;
    const isSame =
      before !== null &&
      before.policy.clients === clients.objects &&
      before.policy.groups === groups.objects &&
      before.policy.roles === roles.objects &&
      before.policy.anonymousGroup === anonymousGroup &&
      isSameAcl(before.policy.defaultAcl, defaultAcl);
    // One policy, so that what was made of it can be kept.
    const policy = isSame
      ? before.policy
      : { clients: clients.objects, groups: groups.objects, roles: roles.objects, defaultAcl, anonymousGroup };
    const lists = isSame ? before.lists : new AccessLists(policy);
    const brokerVersion = this.#version();
    const snapshot: AccessSnapshot = {
      policy,
      dialect: dialectOf(details, brokerVersion),
      asOf: changeIndex === null ? this.#oldest() : askedAt,
      changeIndex,
      brokerVersion,
      isSettled: this.#stale.size === 0,
      unreadable: clients.unreadable + groups.unreadable + roles.unreadable,
      lists,
      get members() {
        return lists.members;
      },
    };
    this.#snapshot = snapshot;
    this.#checkedAt = doubts === this.#doubts ? askedAt : 0;
    return snapshot;
  }

  #isOld(readAt: number): boolean {
    return Date.now() - readAt >= this.#maxAgeMs;
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

function nothing(): Parts {
  const read = { objects: new Map<string, never>(), unreadable: 0, readAt: 0 };
  return { clients: read, groups: read, roles: read };
}

const isSameAcl = (a: DefaultAcl, b: DefaultAcl) => DEFAULT_ACL_TYPES.every((type) => a[type] === b[type]);
