import type { ClientEntry, UserName } from './client-entry.ts';

/** One client, and the other clients that are known to use its account. */
export interface AccountUse extends Pick<ClientEntry, 'connected' | 'clean' | 'isAmbiguous' | 'connection'> {
  readonly username: UserName;
  /** Ids of all clients that are connected with the same user name, including this client. */
  readonly connectedIds: readonly string[];
  /** Number of these clients plus the offline persistent sessions of the account. */
  readonly sessionCount: number;
  /** Whether this service itself uses the account; `null` if that is unknown. */
  readonly isOwn: boolean | null;
}

/** The clients of a ledger by user name. Clients whose user name is unknown are in no account. */
export class AccountIndex {
  readonly #accounts = new Map<UserName, Set<ClientEntry>>();

  move(entry: ClientEntry, account: UserName): void {
    this.remove(entry);
    entry.account = account;
    const peers = this.#accounts.get(account);
    if (peers) peers.add(entry);
    else this.#accounts.set(account, new Set([entry]));
  }

  remove(entry: ClientEntry): void {
    if (entry.account === undefined) return;
    const peers = this.#accounts.get(entry.account);
    peers?.delete(entry);
    if (peers?.size === 0) this.#accounts.delete(entry.account);
  }

  clear(): void {
    this.#accounts.clear();
  }

  /** @param own accounts of this service; `undefined` stands for an unknown account */
  useOf(entry: ClientEntry, own: readonly (UserName | undefined)[]): AccountUse {
    const { account, connected, clean, isAmbiguous, connection } = entry;
    const peers = account === undefined ? [entry] : [...(this.#accounts.get(account) ?? [])];
    return {
      username: account ?? null,
      connected,
      clean,
      isAmbiguous,
      connection,
      connectedIds: peers.filter((peer) => peer.connected).map((peer) => peer.clientid),
      sessionCount: peers.length,
      isOwn: account === undefined ? null : own.includes(account) || (own.includes(undefined) ? null : false),
    };
  }
}

const MAX_STORED = 10_000;

/** The connections that an administrator ended, in order. Stores the last MAX_STORED. */
export class AdministrativeDisconnects {
  #disconnects: { readonly number: number; readonly username: UserName; readonly clientid: string }[] = [];
  /** Number of all disconnects, including dropped ones. */
  count = 0;

  add(username: UserName, clientid: string): void {
    this.count += 1;
    this.#disconnects.push({ number: this.count, username, clientid });
    if (this.#disconnects.length >= 2 * MAX_STORED) this.#disconnects = this.#disconnects.slice(-MAX_STORED);
  }

  /** Client ids of the account that were disconnected after this number, each once. */
  after(number: number, username: UserName): string[] {
    const later = this.#disconnects.filter((entry) => entry.number > number && entry.username === username);
    return [...new Set(later.map(({ clientid }) => clientid))];
  }
}
