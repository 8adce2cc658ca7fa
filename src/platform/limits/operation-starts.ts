import { ServiceError } from '../errors.ts';
import { QueueFull } from '../scheduling/concurrency-limit.ts';
import { afterMicrotasks, IterationSlice, SLICE_MS, yieldToEventLoop } from '../scheduling/sliced-task.ts';
import { networkOf } from './network.ts';
import type { LimitedCaller } from './request-rates.ts';

/** Expected wait of a caller without credentials beyond which the operation is refused. */
const MAX_WAIT_MS = 1_000;
/** Addresses of callers with credentials that are remembered. The oldest is forgotten first. */
const MAX_KNOWN = 10_000;
/** Of them, those of one user or token: credentials do not make any number of addresses known. */
const MAX_KNOWN_OF_ACCOUNT = 16;
/** Weight of the last slice in the average of a group. */
const WEIGHT = 0.1;

interface Operation {
  readonly start: () => void;
  readonly isWanted: () => boolean;
  readonly done: () => void;
  readonly refuse: (error: Error) => void;
}

/** Callers whose operations start round robin. */
interface Group {
  readonly waiting: Map<string, Operation[]>;
  /** Average time of a slice. */
  sliceMs: number;
  /** Average time of an operation. */
  operationMs: number;
}

/**
 * Starts operations round robin over callers, and yields to the event loop after each slice: an amount of time, so that
 * a caller with many small operations waits for one large operation of each other caller.
 *
 * Networks without credentials are a group of their own, which gets half of the slices at most: their number is
 * unbounded, and no other caller shall wait for a round of them. A caller without credentials belongs to the other
 * group if credentials came from its address before, so that known users can sign in.
 */
export class OperationStarts {
  readonly #known: Group = { waiting: new Map(), sliceMs: 0, operationMs: 0 };
  readonly #unknown: Group = { waiting: new Map(), sliceMs: 0, operationMs: 0 };
  /** By the id of the user or token, the oldest first. */
  readonly #addresses = new Map<string, Set<string>>();
  /** Numbers of users and tokens in `#addresses`. */
  readonly #knownAddresses = new Map<string, number>();
  #addressCount = 0;
  waitingCount = 0;
  #isBusy = false;
  readonly #slice = new IterationSlice();
  readonly #reads: { readonly isBusy: boolean } | null;

  /** `reads`: the turns of requests that are read. They are not those of callers, so no operation starts in one. */
  constructor(reads: { readonly isBusy: boolean } | null = null) {
    this.#reads = reads;
  }

  /** Whether an operation may start immediately: none waits, nor does a read, and this iteration has time left. */
  get isFree(): boolean {
    return !this.#isBusy && this.#reads?.isBusy !== true && this.#slice.hasTime();
  }

  /** Calls `start` immediately if `isFree`. Otherwise queues it; `refuse` gets the errors of `run` but QueueFull. */
  soon(caller: LimitedCaller, start: () => void, isWanted: () => boolean, refuse: (error: unknown) => void): void {
    if (this.isFree) {
      this.#remember(caller);
      start();
      return;
    }
    this.run(caller, start, isWanted).catch((error: unknown) => {
      if (!(error instanceof QueueFull)) refuse(error);
    });
  }

  /**
   * Resolves when `start` has returned. Errors: QueueFull if the operation is not wanted, RATE_LIMITED if it would wait
   * too long, and those of `start`.
   */
  run(caller: LimitedCaller, start: () => void, isWanted: () => boolean = () => true): Promise<void> {
    const { viewer, address } = caller;
    this.#remember(caller);
    const key = viewer?.id ?? networkOf(address);
    const group = viewer !== null || this.#knownAddresses.has(address) ? this.#known : this.#unknown;
    const waiting = group.waiting.get(key);
    if (group === this.#unknown && this.#expectedWaitMs(waiting?.length ?? 0) > MAX_WAIT_MS)
      return Promise.reject(overloaded());
    return new Promise((done, refuse) => {
      const operation = { start, isWanted, done, refuse };
      this.waitingCount += 1;
      if (waiting === undefined) group.waiting.set(key, [operation]);
      else waiting.push(operation);
      if (this.#isBusy) return;
      this.#isBusy = true;
      void this.#startWaiting();
    });
  }

  #remember({ viewer, address }: LimitedCaller): void {
    if (viewer === null) return;
    const own = this.#addresses.get(viewer.id) ?? new Set();
    if (own.has(address)) return;
    if (own.size >= MAX_KNOWN_OF_ACCOUNT) this.#forgetOldest(viewer.id, own);
    const [oldest] = this.#addresses;
    if (oldest !== undefined && this.#addressCount >= MAX_KNOWN) this.#forgetOldest(...oldest);
    this.#addresses.set(viewer.id, own.add(address));
    this.#knownAddresses.set(address, (this.#knownAddresses.get(address) ?? 0) + 1);
    this.#addressCount += 1;
  }

  #forgetOldest(id: string, own: Set<string>): void {
    const [address = ''] = own;
    own.delete(address);
    if (own.size === 0) this.#addresses.delete(id);
    const left = (this.#knownAddresses.get(address) ?? 0) - 1;
    if (left > 0) this.#knownAddresses.set(address, left);
    else this.#knownAddresses.delete(address);
    this.#addressCount -= 1;
  }

  /** Expected time until each waiting network had the turns that a network with `queued` operations needs. */
  #expectedWaitMs(queued: number): number {
    const { waiting, sliceMs, operationMs } = this.#unknown;
    const roundMs = waiting.size * (sliceMs + (this.#known.waiting.size > 0 ? this.#known.sliceMs : 0));
    return roundMs * (1 + Math.floor(queued * Math.min(1, operationMs / SLICE_MS)));
  }

  async #startWaiting(): Promise<void> {
    // In the turn of a read, the time of the operation would delay the reads that wait.
    if (this.#reads?.isBusy) await new Promise<void>(yieldToEventLoop);
    for (let group = this.#after(this.#unknown); group !== null; group = this.#after(group))
      await this.#runSlice(group);
    this.#isBusy = false;
  }

  /** The group of the next slice: the other one, unless only the last one has waiting operations. */
  #after(last: Group): Group | null {
    const other = last === this.#known ? this.#unknown : this.#known;
    return [other, last].find(({ waiting }) => waiting.size > 0) ?? null;
  }

  async #runSlice(group: Group): Promise<void> {
    const { waiting } = group;
    while (!this.#slice.hasTime()) await new Promise<void>(yieldToEventLoop);
    const [[key, operations] = ['', []]] = waiting;
    const begun = performance.now();
    let operation = operations.shift();
    let started = 0;
    while (operation !== undefined) {
      this.waitingCount -= 1;
      started += 1;
      await this.#start(operation);
      operation = performance.now() < begun + SLICE_MS ? operations.shift() : undefined;
    }
    // To the end: every other caller of the group is served first.
    waiting.delete(key);
    if (operations.length > 0) waiting.set(key, operations);
    const sliceMs = performance.now() - begun;
    group.sliceMs += WEIGHT * (sliceMs - group.sliceMs);
    group.operationMs += WEIGHT * (sliceMs / started - group.operationMs);
  }

  async #start({ start, isWanted, done, refuse }: Operation): Promise<void> {
    if (!isWanted()) {
      refuse(new QueueFull());
      return;
    }
    try {
      start();
      done();
    } catch (error) {
      refuse(error instanceof Error ? error : new Error(String(error)));
    }
    await afterMicrotasks();
  }
}

const overloaded = () =>
  new ServiceError('RATE_LIMITED', 'Too many callers without credentials are waiting; try again in 1 s', {
    info: { retryAfterSeconds: 1 },
  });
