import { type Attempt, connectionAttempts } from './connection-attempts.ts';
import { LinkBackoff } from './link-backoff.ts';

/** Shorter connections do not reset the backoff. */
const BRIEF_MS = 2_000;
/** Minimum time between the starts of two attempts of which the second one is requested. */
const TRY_MS = 500;
/** Failures in a row after which others connect first. */
const FAILURES = 3;

/** Of all links of this thread. */
const restarting = new Set<LinkBackoff>();

/** When a link tries to connect: after a backoff, and then in turn with the other links of the service. */
export class LinkAttempts {
  readonly #group: string;
  readonly #start: () => void;
  readonly #backoff = new LinkBackoff(restarting);
  #briefCount = 0;
  /** From the end of the backoff until the connection is in use or has failed. */
  turn: Attempt | null = null;
  #isUrgent = false;
  #retry: NodeJS.Timeout | null = null;
  /** Epoch milliseconds. */
  #retryAt = 0;
  #startedAt = 0;

  /** `start` starts an attempt; `endTurn` must follow when the connection is in use, or has failed. */
  constructor(group: string, start: () => void) {
    this.#group = group;
    this.#start = start;
  }

  /** Whether an attempt waits or runs. */
  get isPending(): boolean {
    return this.#retry !== null || this.turn !== null;
  }

  /** Whether the last connection was lost soon after it was made. */
  get wasBrief(): boolean {
    return this.#briefCount > 0;
  }

  queue(): void {
    this.#retry = null;
    const rank = this.#isUrgent ? 'FIRST' : 'NORMAL';
    this.turn = connectionAttempts.create({
      group: this.#group,
      rank: this.#backoff.failures < FAILURES ? rank : 'LAST',
      start: () => {
        this.#isUrgent = false;
        this.#startedAt = Date.now();
        this.#start();
      },
    });
    connectionAttempts.add(this.turn);
  }

  endTurn(): void {
    const { turn } = this;
    this.turn = null;
    turn?.end();
  }

  /** The next attempt starts before those of other links. */
  hurry(): void {
    this.#isUrgent = true;
    this.turn?.hurry();
  }

  /** Starts the next attempt without the rest of the backoff, but at most one every TRY_MS. */
  retrySoon(): void {
    if (this.#retry) this.#schedule(Math.min(this.#retryAt, this.#startedAt + TRY_MS));
  }

  /** `hasClosedPort`: whether the port of a broker that was connected is closed. */
  retryLater(hasClosedPort: boolean): void {
    this.#schedule(Date.now() + this.#backoff.nextOf(hasClosedPort));
  }

  /** The link is connected, or starts again. */
  succeeded(): void {
    this.#backoff.reset();
  }

  /** A connection that existed for `connectedMs` is lost. */
  lost(connectedMs: number): void {
    const isBrief = connectedMs < BRIEF_MS;
    this.#backoff.reset(isBrief ? this.#briefCount : 0);
    this.#briefCount = isBrief ? this.#briefCount + 1 : 0;
  }

  cancel(): void {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = null;
  }

  /** Called when the link is connected or closed. */
  forget(): void {
    this.#backoff.forget();
  }

  #schedule(at: number): void {
    this.cancel();
    this.#retryAt = at;
    this.#retry = setTimeout(() => this.queue(), Math.max(0, at - Date.now()));
  }
}
