import type { AccessControl, Credentials, Identity, Verdict } from './access.ts';
import type { Journal } from './journal.ts';
import { hashPassword, PasswordCheck } from './password-check.ts';

/**
 * Access for one account, the administrator: everyone else is refused, anonymous clients too. It may do everything, except
 * publish below `$SYS`, which only the broker does; the state topics of bridges are the exception that bridges need.
 */
export class AdministratorAccess implements AccessControl {
  readonly username: string;
  readonly #hash: string;
  readonly #passwords: PasswordCheck;

  private constructor(username: string, hash: string, passwords: PasswordCheck) {
    this.username = username;
    this.#hash = hash;
    this.#passwords = passwords;
  }

  /** The given password is the one from now on; the journal holds its hash, and no other account. */
  static async open(journal: Journal, administrator: AdministratorAccount): Promise<AdministratorAccess> {
    const { username, password } = administrator;
    const [row] = journal.rows<{ password_hash: string }>(
      'SELECT password_hash FROM account WHERE username = ?',
      username,
    );
    // The one that clients are checked by, which then remembers the password: the gateway connects without another check.
    const passwords = new PasswordCheck();
    const isCurrent = row && (await passwords.check(Buffer.from(password), row.password_hash)) === 'RIGHT';
    const hash = isCurrent ? row.password_hash : await hashPassword(password);
    if (!isCurrent) {
      journal.add('DELETE FROM account');
      journal.add('INSERT INTO account VALUES (?, ?)', username, hash);
      await journal.commit();
    }
    return new AdministratorAccess(username, hash, passwords);
  }

  async authenticate({ username, password }: Credentials): Promise<Verdict> {
    if (username === undefined || password === undefined) return 'REFUSED';
    // An unknown user costs the same check, or the time would tell which names exist.
    const result = await this.#passwords.check(password, this.#hash);
    if (result === 'BUSY') return 'BUSY';
    return result === 'RIGHT' && username === this.username ? 'ACCEPTED' : 'REFUSED';
  }

  mayPublish(_identity: Identity, topic: string): boolean {
    return !topic.startsWith('$SYS/') || topic.startsWith('$SYS/broker/connection/');
  }

  maySubscribe(): boolean {
    return true;
  }

  mayReceive(): boolean {
    return true;
  }
}

export interface AdministratorAccount {
  readonly username: string;
  readonly password: string;
}
