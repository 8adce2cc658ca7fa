import { Bursts } from '../../../platform/limits/bursts.ts';
import { networkOf } from '../../../platform/limits/network.ts';
import type { RefusalReason } from '../core/connect-refusal.ts';

/** Number of refused log-ins of a network or an account that make a burst. A few misconfigured devices are no burst. */
const BURST_FROM = 20;
const FLUSH_MS = 1_000;
/** Reasons that may be attempts to guess a password, or to block log-ins of other clients. */
const GUESSES: ReadonlySet<RefusalReason> = new Set(['credentials', 'throttled', 'busy']);

export type RefusalCounts = Readonly<Partial<Record<RefusalReason, number>>>;

/** A series of refused log-ins from one network, or for one account from many networks. */
export interface RefusedBurst {
  /** Address of the first client; `null` if the log-ins come from many networks. */
  readonly address: string | null;
  /** Name of an existing account; `null` if there are several or none. Unknown names may be passwords. */
  readonly username: string | null;
}

interface RefusedConnectsOptions {
  readonly isAccount: (username: string) => boolean;
  /** Called at most once a second. */
  readonly onCounts: (counts: RefusalCounts) => void;
  readonly onBurst: (burst: RefusedBurst, count: number) => void;
  /** Called after a minute without a refusal. */
  readonly onBurstEnd: (burst: RefusedBurst, count: number, seconds: number) => void;
}

/** Counts refused CONNECTs by reason, and reports the start and the end of each burst of refused log-ins. */
export class RefusedConnects {
  readonly #options: RefusedConnectsOptions;
  readonly #byNetwork: Bursts<RefusedBurst>;
  readonly #byAccount: Bursts<RefusedBurst>;
  #counts: Partial<Record<RefusalReason, number>> = {};
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RefusedConnectsOptions) {
    this.#options = options;
    const bursts = () =>
      new Bursts<RefusedBurst>({ from: BURST_FROM, onBegin: options.onBurst, onEnd: options.onBurstEnd });
    this.#byNetwork = bursts();
    this.#byAccount = bursts();
  }

  add(address: string, username: string | null, reason: RefusalReason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
    if (!GUESSES.has(reason)) return;
    const account = username !== null && this.#options.isAccount(username) ? username : null;
    // All log-ins of a network are one burst. The remaining log-ins come from many networks and count per account.
    if (this.#byNetwork.add(networkOf(address), { address, username: account })) return;
    if (account !== null) this.#byAccount.add(account, { address: null, username: account });
  }

  close(): void {
    this.#flush();
    this.#byNetwork.close();
    this.#byAccount.close();
  }

  #flush(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#options.onCounts(this.#counts);
    this.#counts = {};
  }
}
