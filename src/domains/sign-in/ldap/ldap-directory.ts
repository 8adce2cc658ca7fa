import { randomUUID } from 'node:crypto';
import {
  type Client,
  type Entry,
  Filter,
  InvalidCredentialsError,
  NoSuchObjectError,
  SizeLimitExceededError,
} from 'ldapts';
import type { Logger } from 'pino';
import type { PasswordDirectory } from '../../../platform/auth/password-directory.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { SignInAccounts } from '../accounts.ts';
import type { Checked, CheckingProvider } from '../providers.ts';
import { signInUnavailable } from '../refusals.ts';
import { type Claims, keptClaims } from '../rules/claim-values.ts';
import { connectedTo, type LdapAddress } from './ldap-connection.ts';

export interface LdapDirectoryOptions extends LdapAddress {
  /** Null: searches are made without a name. */
  readonly bind: { readonly dn: string; readonly password: string } | null;
  readonly userBase: string;
  /** `{login}` stands for what was typed. */
  readonly userFilter: string;
  /** Null: nobody has groups. */
  readonly groupBase: string | null;
  /** `{dn}` stands for the person's name in the directory, `{login}` for what was typed. */
  readonly groupFilter: string;
  readonly accounts: SignInAccounts;
  readonly log: Logger;
}

interface Found {
  readonly subject: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly claims: Claims;
}

/** The directory is asked to give up a search after it. */
const SEARCH_S = 5;
const MAX_GROUPS = 1_000;
const MAX_LOGIN = 254;
const MAX_PASSWORD = 1_024;
/** Account is disabled, in `userAccountControl`: [MS-ADTS] 2.2.16. */
const ACCOUNT_DISABLED = 2;
const ATTRIBUTES = [
  'mail',
  'displayName',
  'cn',
  'entryUUID',
  'objectGUID',
  'userAccountControl',
  'pwdAccountLockedTime',
  'nsAccountLock',
];

/**
 * A directory server that people sign in at with a password (RFC 4511): found by a search, then asked with the password itself.
 *
 * A person is known by `entryUUID` (RFC 4530) or `objectGUID`, which stay when the name in the directory changes, else by that name.
 * Claims for rules: `groups` (their common names), `groupDns`, `dn`, `mail`. Referrals are not followed.
 */
export class LdapDirectory implements PasswordDirectory, CheckingProvider {
  readonly provider = 'ldap';
  readonly #options: LdapDirectoryOptions;

  constructor(options: LdapDirectoryOptions) {
    this.#options = options;
  }

  /** Errors: NOT_ALLOWED (no account here that may be used), SIGN_IN_UNAVAILABLE. */
  async signIn(login: string, password: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'> {
    // RFC 4513 5.1.2: a name with an empty password is let in by many servers, as nobody.
    if (password.length === 0 || password.length > MAX_PASSWORD) return 'WRONG';
    const person = await this.#asked(async (client) => {
      const entry = isPlain(login) ? await this.#find(client, login) : null;
      // Who is not there costs what a wrong password costs.
      const dn = entry?.dn ?? `cn=${randomUUID()},${this.#options.userBase}`;
      if (!(await this.#accepts(dn, password))) return entry === null ? 'UNKNOWN' : 'WRONG';
      return entry === null || isLocked(entry) ? 'WRONG' : this.#told(client, entry, login);
    });
    if (typeof person === 'string') return person;
    const { subject, email, name, claims } = person;
    const handle = JSON.stringify({ login });
    return this.#options.accounts.admit({
      provider: 'ldap',
      subject,
      email,
      isEmailVerified: true,
      name,
      claims,
      handle,
    });
  }

  async check({ subject, handle }: { readonly subject: string; readonly handle: string }): Promise<Checked> {
    const { login } = JSON.parse(handle) as { readonly login: string };
    const found = await this.#asked(async (client) => {
      const entry = await this.#find(client, login);
      return entry === null || subjectOf(entry) !== subject || isLocked(entry)
        ? null
        : this.#told(client, entry, login);
    });
    return found === null ? { outcome: 'GONE' } : { outcome: 'THERE', claims: found.claims, handle, isWhole: true };
  }

  /** Runs work on a connection of its own, as the service. Errors: SIGN_IN_UNAVAILABLE for whatever the directory says no to. */
  async #asked<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await connectedTo(this.#options, async (client) => {
        const { bind } = this.#options;
        if (bind !== null) await client.bind(bind.dn, bind.password);
        return work(client);
      });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // Of the error only its words: it may hold what was sent.
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
      this.#options.log.warn({ reason }, 'the directory could not be asked');
      throw signInUnavailable();
    }
  }

  async #accepts(dn: string, password: string): Promise<boolean> {
    try {
      await connectedTo(this.#options, (client) => client.bind(dn, password));
      return true;
    } catch (error) {
      // Nobody of that name looks like a wrong password at most servers, and not at all of them.
      if (error instanceof InvalidCredentialsError || error instanceof NoSuchObjectError) return false;
      throw error;
    }
  }

  /** Null: nobody, or several. */
  async #find(client: Client, login: string): Promise<Entry | null> {
    const { userBase, userFilter, log } = this.#options;
    const filter = filled(userFilter, { login });
    const searchEntries = await client
      .search(userBase, {
        scope: 'sub',
        filter,
        attributes: ATTRIBUTES,
        explicitBufferAttributes: ['objectGUID'],
        sizeLimit: 2,
        timeLimit: SEARCH_S,
      })
      .then((result) => result.searchEntries)
      .catch(noneOrSeveral);
    if (searchEntries === 'SEVERAL' || searchEntries.length > 1) {
      log.warn('several people of the directory have the same login; none of them gets in');
      return null;
    }
    return searchEntries[0] ?? null;
  }

  async #groupsOf(client: Client, dn: string, login: string): Promise<readonly Entry[]> {
    const { groupBase, groupFilter, log } = this.#options;
    if (groupBase === null) return [];
    const groups: Entry[] = [];
    const filter = filled(groupFilter, { dn, login });
    const pages = client.searchPaginated(groupBase, {
      scope: 'sub',
      filter,
      attributes: ['cn'],
      timeLimit: SEARCH_S,
      paged: { pageSize: 200 },
    });
    for await (const { searchEntries } of pages) {
      groups.push(...searchEntries);
      if (groups.length > MAX_GROUPS) {
        log.warn({ limit: MAX_GROUPS }, 'a person has more groups than are looked at');
        break;
      }
    }
    return groups.slice(0, MAX_GROUPS);
  }

  async #told(client: Client, entry: Entry, login: string): Promise<Found> {
    const { dn } = entry;
    const groups = await this.#groupsOf(client, dn, login);
    const email = first(entry.mail);
    const claims = {
      groups: groups.flatMap(({ cn }) => first(cn) ?? []),
      groupDns: groups.map((group) => group.dn),
      dn,
      ...(email === null ? {} : { mail: email }),
    };
    const { kept, left } = keptClaims(claims, ['groups']);
    if (left.length > 0) this.#options.log.warn({ claims: left }, 'claims of a person are too large and were left out');
    return { subject: subjectOf(entry), email, name: first(entry.displayName) ?? first(entry.cn), claims: kept };
  }
}

const subjectOf = ({ dn, entryUUID, objectGUID }: Entry): string =>
  first(entryUUID) ?? hex(objectGUID) ?? dn.toLowerCase();

function noneOrSeveral(error: unknown): Entry[] | 'SEVERAL' {
  if (error instanceof SizeLimitExceededError) return 'SEVERAL';
  if (error instanceof NoSuchObjectError) return [];
  throw error;
}

/** RFC 4515 3: what stands for a value cannot become part of the filter around it. */
export function filled(filter: string, values: Readonly<Record<string, string>>): string {
  return filter.replace(/\{(login|dn)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : Filter.escape(value);
  });
}

/**
 * Servers take many spellings for one (RFC 4518): spaces, invisible characters, wide letters. Here each would be guessed at anew, so
 * that only the plain one is taken.
 */
function isPlain(login: string): boolean {
  if (login.length === 0 || login.length > MAX_LOGIN || /[\p{Cc}\p{Cf}]|\s\s/u.test(login)) return false;
  return login.normalize('NFKC') === login;
}

function first(value: Entry[string] | undefined): string | null {
  const one = Array.isArray(value) ? value[0] : value;
  return one === undefined || one.length === 0 ? null : String(one);
}

function hex(value: Entry[string] | undefined): string | null {
  const one = Array.isArray(value) ? value[0] : value;
  return Buffer.isBuffer(one) && one.length > 0 ? one.toString('hex') : null;
}

/** As Active Directory, OpenLDAP's password policy and 389 Directory Server say it. */
function isLocked({ userAccountControl, pwdAccountLockedTime, nsAccountLock }: Entry): boolean {
  if ((Number(first(userAccountControl) ?? 0) & ACCOUNT_DISABLED) !== 0) return true;
  return first(pwdAccountLockedTime) !== null || first(nsAccountLock)?.toLowerCase() === 'true';
}
