import type { UserName } from './client-entry.ts';

/** Number of disconnects that are stored; the oldest are dropped. */
const MAX_STORED = 10_000;

interface Disconnect {
  readonly number: number;
  readonly username: UserName;
  readonly clientid: string;
}

/** The connections that an administrator ended, in order. */
export class AdministrativeDisconnects {
  #disconnects: Disconnect[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(username: UserName, clientid: string): void {
    this.#count += 1;
    this.#disconnects.push({ number: this.#count, username, clientid });
    if (this.#disconnects.length >= 2 * MAX_STORED) this.#disconnects = this.#disconnects.slice(-MAX_STORED);
  }

  /** Client ids of the account that were disconnected after this number, each once. */
  after(number: number, username: UserName): string[] {
    const later = this.#disconnects.filter((entry) => entry.number > number && entry.username === username);
    return [...new Set(later.map(({ clientid }) => clientid))];
  }
}
