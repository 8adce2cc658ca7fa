import { FailureWait } from '../../../platform/limits/failure-wait.ts';

/** Different wrong passwords that one network may try at one account before it has to wait. */
const FREE_OF_ACCOUNT = 20;
const LONGEST_WAIT_OF_ACCOUNT_MS = 5 * 60_000;
/** Failures minus successes of one network, over all accounts: a whole site of devices may have one address. */
const FREE_OF_NETWORK = 1_000;
const LONGEST_WAIT_OF_NETWORK_MS = 60_000;
/** Accounts are named by callers. */
const MAX_NAME_LENGTH = 254;

/**
 * Slows down guesses at passwords of MQTT accounts.
 *
 * - A failure is a wrong password that was not tried before: devices that go on with a password that was rotated fail once.
 * - An account is throttled for one network alone, after 20 failures: each further one doubles the wait, from 1 s to 5 min. A
 *   successful log-in of the account from that network ends that. Other networks log in with the account as before.
 * - A network is throttled for all accounts from 1,000 failures on, up to 60 s; each successful log-in from it makes up for one
 *   failure. A site behind one address is therefore not throttled because of a few wrong devices.
 * - A password that was right before is let in whatever the wait, because it needs no hash: see `PasswordCheck`.
 */
export class LoginThrottle {
  readonly #accounts = new FailureWait({ free: FREE_OF_ACCOUNT, longestWaitMs: LONGEST_WAIT_OF_ACCOUNT_MS });
  readonly #networks = new FailureWait({ free: FREE_OF_NETWORK, longestWaitMs: LONGEST_WAIT_OF_NETWORK_MS });

  mustWait(username: string, network: string): boolean {
    return this.#networks.waitOf(network) > 0 || this.#accounts.waitOf(keyOf(username, network)) > 0;
  }

  failed(username: string, network: string): void {
    this.#accounts.failed(keyOf(username, network));
    this.#networks.failed(network);
  }

  /** A password was checked and is right. */
  succeeded(username: string, network: string): void {
    this.#accounts.succeeded(keyOf(username, network));
  }

  /** A client logged in, checked or remembered: makes up for one failure of its network. */
  offset(network: string): void {
    this.#networks.offset(network);
  }
}

const keyOf = (username: string, network: string): string => `${network} ${username.slice(0, MAX_NAME_LENGTH)}`;
