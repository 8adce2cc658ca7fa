import { Bursts } from '../../../platform/limits/bursts.ts';
import { networkOf } from '../../../platform/limits/network.ts';
import type { RefusalReason } from '../core/connect-refusal.ts';

/** Refused log-ins of one network, or of one account, that are a burst: devices are a few at a time misconfigured. */
const BURST_FROM = 20;
const FLUSH_MS = 1_000;
/** Reasons that may be attempts to guess a password, or to keep others from logging in. */
const GUESSES: ReadonlySet<RefusalReason> = new Set(['credentials', 'throttled', 'busy']);

export type RefusalCounts = Readonly<Partial<Record<RefusalReason, number>>>;

/** Refused log-ins in a row, of one network or at one account from many networks. */
export interface RefusedBurst {
  /** Of the first client; `null` if they come from many networks. */
  readonly address: string | null;
  /** Name of an account that exists; `null` if there are several, or none: a name may be a password in the wrong place. */
  readonly username: string | null;
}

export interface RefusedConnectsOptions {
  readonly isAccount: (username: string) => boolean;
  /** At most once a second. */
  readonly onCounts: (counts: RefusalCounts) => void;
  readonly onBurst: (burst: RefusedBurst, count: number) => void;
  /** When a burst has been quiet for a minute. */
  readonly onBurstEnd: (burst: RefusedBurst, count: number, seconds: number) => void;
  /** Milliseconds without a refusal that end a burst. Default: one minute. */
  readonly quietMs?: number;
}

/** Counts refused CONNECTs by reason, and reports each burst of refused log-ins when it begins and when it ends. */
export class RefusedConnects {
  readonly #options: RefusedConnectsOptions;
  readonly #byNetwork: Bursts<RefusedBurst>;
  readonly #byAccount: Bursts<RefusedBurst>;
  #counts: Partial<Record<RefusalReason, number>> = {};
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RefusedConnectsOptions) {
    this.#options = options;
    const bursts = () =>
      new Bursts<RefusedBurst>({
        from: BURST_FROM,
        ...(options.quietMs === undefined ? {} : { quietMs: options.quietMs }),
        onBegin: options.onBurst,
        onEnd: options.onBurstEnd,
      });
    this.#byNetwork = bursts();
    this.#byAccount = bursts();
  }

  add(address: string, username: string | null, reason: RefusalReason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
    if (!GUESSES.has(reason)) return;
    const account = username !== null && this.#options.isAccount(username) ? username : null;
    // Of one network it is one burst, however many accounts it tries; what is left are many networks that try one account.
    if (this.#byNetwork.add(networkOf(address), { address, username: account })) return;
    if (account !== null) this.#byAccount.add(account, { address: null, username: account });
  }

  /** Reports what is left. Ends all bursts. */
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
