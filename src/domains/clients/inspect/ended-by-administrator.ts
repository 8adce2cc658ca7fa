import type { UserName } from './client-entry.ts';

/** How many ends are kept; the oldest are forgotten. */
const MAX_KEPT = 10_000;

interface End {
  readonly number: number;
  readonly username: UserName;
  readonly clientid: string;
}

/** Connections that an administrator has ended, in order, so that whoever disconnects an account can tell whom it met. */
export class EndedByAdministrator {
  #ends: End[] = [];
  #count = 0;

  /** The number of the last end. */
  get count(): number {
    return this.#count;
  }

  add(username: UserName, clientid: string): void {
    this.#count += 1;
    this.#ends.push({ number: this.#count, username, clientid });
    if (this.#ends.length >= 2 * MAX_KEPT) this.#ends = this.#ends.slice(-MAX_KEPT);
  }

  /** Client ids of the account whose connections were ended after that number, each once. */
  after(number: number, username: UserName): string[] {
    const later = this.#ends.filter((end) => end.number > number && end.username === username);
    return [...new Set(later.map(({ clientid }) => clientid))];
  }
}
