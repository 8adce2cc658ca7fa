import { Bursts } from '../../../platform/limits/bursts.ts';
import { networkOf } from '../../../platform/limits/network.ts';
import type { RefusalReason } from '../connecting/connect-refusal.ts';

/** Number of refused log-ins of a network or an account that make a burst. A few misconfigured devices are no burst. */
const BURST_FROM = 20;
const FLUSH_MS = 1_000;
/** Reasons that may be attempts to guess a password, or to block log-ins of other clients. */
const GUESSES: ReadonlySet<RefusalReason> = new Set(['credentials', 'throttled', 'busy']);

/** A series of refused log-ins from one network, or for one account from many networks. */
interface RefusedBurst {
  /** Address of the first client; `null` if the log-ins come from many networks. */
  readonly address: string | null;
  /** Name of an existing account; `null` if there are several or none. Unknown names may be passwords. */
  readonly username: string | null;
}

/** `seconds` is `null` at the start of a burst, which ends after a minute without a refusal. */
export type RefusalMessage =
  | { readonly type: 'refused'; readonly counts: Readonly<Partial<Record<RefusalReason, number>>> }
  | {
      readonly type: 'refusedBurst';
      readonly burst: RefusedBurst;
      readonly count: number;
      readonly seconds: number | null;
    };

/** Counts refused CONNECTs by reason, and reports the start and the end of each burst of refused log-ins. */
export class RefusedConnects {
  readonly #isAccount: (username: string) => boolean;
  readonly #send: (message: RefusalMessage) => void;
  readonly #byNetwork = this.#bursts();
  readonly #byAccount = this.#bursts();
  #counts: Partial<Record<RefusalReason, number>> = {};
  #timer: NodeJS.Timeout | null = null;

  constructor(isAccount: (username: string) => boolean, send: (message: RefusalMessage) => void) {
    this.#isAccount = isAccount;
    this.#send = send;
  }

  add(address: string, username: string | null, reason: RefusalReason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
    if (!GUESSES.has(reason)) return;
    const account = username !== null && this.#isAccount(username) ? username : null;
    // All log-ins of a network are one burst. The remaining log-ins come from many networks and count per account.
    if (this.#byNetwork.add(networkOf(address), { address, username: account })) return;
    if (account !== null) this.#byAccount.add(account, { address: null, username: account });
  }

  close(): void {
    this.#flush();
    this.#byNetwork.close();
    this.#byAccount.close();
  }

  #bursts(): Bursts<RefusedBurst> {
    const report = (burst: RefusedBurst, count: number, seconds: number | null = null) =>
      this.#send({ type: 'refusedBurst', burst, count, seconds });
    return new Bursts({ from: BURST_FROM, onBegin: report, onEnd: report });
  }

  #flush(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#send({ type: 'refused', counts: this.#counts });
    this.#counts = {};
  }
}
