import { FailureWait } from '../../../platform/limits/failure-wait.ts';

/** Number of different wrong passwords for one account from one network before it has to wait. */
const FREE_OF_ACCOUNT = 20;
const LONGEST_WAIT_OF_ACCOUNT_MS = 5 * 60_000;
/** Failures minus successes of one network, over all accounts: a whole site of devices may have one address. */
const FREE_OF_NETWORK = 1_000;
const LONGEST_WAIT_OF_NETWORK_MS = 60_000;
const MAX_NAME_LENGTH = 254;

/**
 * Throttles attempts to guess passwords of MQTT accounts. A failure is a wrong password that was not tried before. A
 * password that was correct before is always accepted, see `PasswordCheck`.
 *
 * - Account and network: from 20 failures, waits double from 1 s to 5 min. A successful log-in resets them.
 * - Network, for all accounts: from 1,000 failures, up to 60 s. Each successful log-in offsets one failure, so that a
 *   few misconfigured devices do not throttle a site behind one address.
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

  succeeded(username: string, network: string): void {
    this.#accounts.succeeded(keyOf(username, network));
  }

  /** A client has logged in, with a checked or a remembered password. */
  offset(network: string): void {
    this.#networks.offset(network);
  }
}

const keyOf = (username: string, network: string): string => `${network} ${username.slice(0, MAX_NAME_LENGTH)}`;
