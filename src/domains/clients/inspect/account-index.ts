import type { ClientEntry, UserName } from './client-entry.ts';

/** One client, and who else is known to use its account. */
export interface AccountUse {
  readonly username: UserName;
  readonly connected: boolean;
  readonly clean: boolean | null;
  readonly bridge: boolean;
  /** Its user name is a guess, since id or name imitate a line of the log. */
  readonly isAmbiguous: boolean;
  /** Tells this connection of the client from earlier and later ones. */
  readonly connection: number;
  /** All that are connected with the same user name, itself among them. */
  readonly connectedIds: readonly string[];
  /** Those, and the persistent sessions of the account that are offline. */
  readonly sessionCount: number;
  /** The account is the one that this service uses; null: nobody knows which one that is. */
  readonly isOwn: boolean | null;
}

/** The clients of a ledger by the user name that they use. Those whose name was not told are in no account. */
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

  /** @param own accounts of this service; undefined among them: one that was not told */
  useOf(entry: ClientEntry, own: readonly (UserName | undefined)[]): AccountUse {
    const { account, connected, clean, bridge, isAmbiguous, connection } = entry;
    const peers = account === undefined ? [entry] : [...(this.#accounts.get(account) ?? [])];
    return {
      username: account ?? null,
      connected,
      clean,
      bridge,
      isAmbiguous,
      connection,
      connectedIds: peers.filter((peer) => peer.connected).map((peer) => peer.clientid),
      sessionCount: peers.length,
      isOwn: account === undefined ? null : own.includes(account) || (own.includes(undefined) ? null : false),
    };
  }
}
