import { randomUUID } from 'node:crypto';
import {
  type Client,
  ConstraintViolationError,
  type Entry,
  Filter,
  InappropriateAuthError,
  InvalidCredentialsError,
  NoSuchObjectError,
  SizeLimitExceededError,
  UnwillingToPerformError,
} from 'ldapts';
import type { Logger } from 'pino';
import type { PasswordDirectory } from '../../../platform/auth/password-directory.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { SignInAccounts } from '../accounts.ts';
import type { CheckedUser, CheckingProvider, ExternalUser } from '../providers.ts';
import { limitedClaims, OMITTED_CLAIMS } from '../rules/claim-values.ts';
import { signInUnavailable } from '../sign-in-errors.ts';
import { connectedTo, describeLdapError, type LdapAddress } from './ldap-connection.ts';
import { ATTRIBUTES, first, isLocked, subjectOf, withPlainNames } from './ldap-entry.ts';

export interface LdapDirectoryOptions extends LdapAddress {
  /** Account for searches. `null` for anonymous searches. */
  readonly bind: { readonly dn: string; readonly password: string } | null;
  readonly userBase: string;
  /** Filter with the placeholder `{login}` for the typed log-in name. */
  readonly userFilter: string;
  readonly groupBase: string | null;
  /** Filter with the placeholders `{dn}` for the name of the user and `{login}` for the typed log-in name. */
  readonly groupFilter: string;
  readonly accounts: SignInAccounts;
  readonly log: Logger;
}

interface LdapUser {
  readonly user: Pick<ExternalUser, 'subject' | 'email' | 'name' | 'claims'>;
  /** Whether the claims have all groups of the user. */
  readonly isComplete: boolean;
}

interface Groups {
  readonly groups: readonly Entry[];
  readonly isComplete: boolean;
}

type UserToCheck = Parameters<CheckingProvider['check']>[0];

const SEARCH_S = 5;
const LIMIT_OF_DIRECTORY =
  'a user has more groups than the LDAP directory sends to one search; further groups are ignored: raise its limit for the account of LDAP_BIND_DN';
/** How servers refuse the bind of an account that is locked, deactivated or without a password. */
const REFUSALS = [ConstraintViolationError, InappropriateAuthError, UnwillingToPerformError];
const MAX_GROUPS = 1_000;
const GROUP_CLAIMS: readonly string[] = ['groups', 'groupDns'];
const MAX_LOGIN = 254;
const MAX_PASSWORD = 1_024;
/**
 * Sign-in with passwords of an LDAP directory (RFC 4511): a search for the user, then a bind with the password. A user
 * is identified by `entryUUID` (RFC 4530) or `objectGUID`, otherwise by the distinguished name. Claims for rules:
 * `groups` (common names), `groupDns`, `dn`, `mail`. Referrals are not followed.
 */
export class LdapDirectory implements PasswordDirectory, CheckingProvider {
  readonly provider = 'ldap';
  readonly #options: LdapDirectoryOptions;

  constructor(options: LdapDirectoryOptions) {
    this.#options = options;
  }

  /** Errors: NOT_ALLOWED (no suitable account), SIGN_IN_UNAVAILABLE. */
  async signIn(login: string, password: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'> {
    // RFC 4513 5.1.2: many servers accept an empty password as an anonymous bind.
    if (password.length === 0 || password.length > MAX_PASSWORD) return 'WRONG';
    const result = await this.#connected(async (client) => {
      const entry = isPlain(login) ? await this.#find(client, login) : null;
      // An unknown user must take as long as a wrong password.
      const dn = entry?.dn ?? `cn=${randomUUID()},${this.#options.userBase}`;
      if (!(await this.#accepts(dn, password))) return entry === null ? 'UNKNOWN' : 'WRONG';
      return entry === null || isLocked(entry, true) ? 'WRONG' : this.#read(client, entry, login);
    });
    if (typeof result === 'string') return result;
    const handle = JSON.stringify({ login });
    return this.#options.accounts.admit({ ...result.user, provider: 'ldap', isEmailVerified: true, handle });
  }

  /** A user with more groups than are read keeps the known ones, because each search may read others. */
  async check({ subject, claims: known, handle }: UserToCheck): Promise<CheckedUser> {
    const { login } = JSON.parse(handle) as { readonly login: string };
    const found = await this.#connected(async (client) => {
      const entry = await this.#find(client, login);
      return entry === null || subjectOf(entry) !== subject || isLocked(entry)
        ? null
        : this.#read(client, entry, login);
    });
    if (found === null) return { outcome: 'GONE' };
    const { user, isComplete } = found;
    const kept = isComplete ? [] : Object.entries(known).filter(([name]) => GROUP_CLAIMS.includes(name));
    return { outcome: 'ACTIVE', claims: { ...user.claims, ...Object.fromEntries(kept) }, handle, isComplete };
  }

  /** Runs work on a new connection with the account of the service. Errors: SIGN_IN_UNAVAILABLE for all failures. */
  async #connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await connectedTo(this.#options, async (client) => {
        const { bind } = this.#options;
        if (bind !== null) await client.bind(bind.dn, bind.password);
        return work(client);
      });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      this.#options.log.warn({ reason: describeLdapError(error) }, 'the LDAP directory is unavailable');
      throw signInUnavailable();
    }
  }

  async #accepts(dn: string, password: string): Promise<boolean> {
    try {
      await connectedTo(this.#options, (client) => client.bind(dn, password));
      return true;
    } catch (error) {
      // Most servers report an unknown name as InvalidCredentials, some as NoSuchObject.
      if (error instanceof InvalidCredentialsError || error instanceof NoSuchObjectError) return false;
      if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
      this.#options.log.info({ dn, reason: describeLdapError(error) }, 'the LDAP directory refuses an account');
      return false;
    }
  }

  async #find(client: Client, login: string): Promise<Entry | null> {
    const { userBase, userFilter, log } = this.#options;
    const filter = filled(userFilter, { login });
    const attributes = { attributes: ATTRIBUTES, explicitBufferAttributes: ['objectGUID'] };
    const searchEntries = await client
      .search(userBase, { scope: 'sub', filter, ...attributes, sizeLimit: 2, timeLimit: SEARCH_S })
      .then((result) => result.searchEntries)
      .catch(noneOrSeveral);
    if (searchEntries === 'SEVERAL' || searchEntries.length > 1) {
      log.warn('several users of the LDAP directory match the same log-in name; the sign-in is refused');
      return null;
    }
    return searchEntries[0] === undefined ? null : withPlainNames(searchEntries[0]);
  }

  async #groupsOf(client: Client, dn: string, login: string): Promise<Groups> {
    const { groupBase, groupFilter, log } = this.#options;
    if (groupBase === null) return { groups: [], isComplete: true };
    const groups: Entry[] = [];
    let isComplete = true;
    const filter = filled(groupFilter, { dn, login });
    const pages = client.searchPaginated(groupBase, {
      scope: 'sub',
      filter,
      attributes: ['cn'],
      timeLimit: SEARCH_S,
      paged: { pageSize: 200 },
    });
    try {
      for await (const { searchEntries } of pages) {
        groups.push(...searchEntries);
        if (groups.length > MAX_GROUPS) {
          isComplete = false;
          log.warn({ limit: MAX_GROUPS }, 'a user has more groups than the limit; further groups are ignored');
          break;
        }
      }
    } catch (error) {
      if (!(error instanceof SizeLimitExceededError)) throw error;
      isComplete = false;
      log.warn({ read: groups.length }, LIMIT_OF_DIRECTORY);
    }
    return { groups: groups.slice(0, MAX_GROUPS), isComplete };
  }

  async #read(client: Client, entry: Entry, login: string): Promise<LdapUser> {
    const { dn } = entry;
    const { groups, isComplete } = await this.#groupsOf(client, dn, login);
    const email = first(entry.mail);
    const claims = {
      groups: groups.flatMap(({ cn }) => first(cn) ?? []),
      groupDns: groups.map((group) => group.dn),
      dn,
      ...(email === null ? {} : { mail: email }),
    };
    const { included, omitted } = limitedClaims(claims, ['groups']);
    if (omitted.length > 0) this.#options.log.warn({ claims: omitted }, OMITTED_CLAIMS);
    const name = first(entry.displayName) ?? first(entry.cn);
    return { user: { subject: subjectOf(entry), email, name, claims: included }, isComplete };
  }
}

function noneOrSeveral(error: unknown): Entry[] | 'SEVERAL' {
  if (error instanceof SizeLimitExceededError) return 'SEVERAL';
  if (error instanceof NoSuchObjectError) return [];
  throw error;
}

/** Fills in the placeholders of a filter, escaped by RFC 4515 3. */
export function filled(filter: string, values: Readonly<Record<string, string>>): string {
  return filter.replace(/\{(login|dn)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : Filter.escape(value);
  });
}

/**
 * Whether a log-in name is in its plain form. Servers treat many spellings as equal (RFC 4518), and each one would have
 * free failures of its own.
 */
function isPlain(login: string): boolean {
  if (login.length === 0 || login.length > MAX_LOGIN || /[\p{Cc}\p{Cf}]|\s\s/u.test(login)) return false;
  return login.normalize('NFKC') === login;
}
