import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { ServiceError } from '../../../platform/errors.ts';
import { NOBODY } from '../../audit/audit-event.ts';
import type { AuditService } from '../../audit/audit-service.ts';
import type { SignInAccounts } from '../accounts.ts';
import type { SignInAttempts } from '../sign-in-attempts.ts';
import type { OidcChecks, OidcProvider } from './oidc-provider.ts';
import { ReturnAddresses } from './return-addresses.ts';

export interface OidcSignInOptions {
  readonly provider: OidcProvider;
  readonly attempts: SignInAttempts;
  readonly accounts: SignInAccounts;
  readonly audit: Pick<AuditService, 'record'>;
  /** Base address of this service as browsers know it. */
  readonly publicUrl: string;
  readonly returnTo: readonly string[];
  /** Told of each sign-in that was refused or failed. */
  readonly onRefused: (error: unknown) => void;
  readonly log: Logger;
}

/** What was begun; kept sealed until the browser comes back. */
interface Begun extends OidcChecks {
  readonly returnTo: string;
  /** SHA-256 of what the browser holds as a cookie: who did not begin cannot end it. */
  readonly browser: string;
  readonly challenge: string | null;
}

/** A sign-in that has ended at the provider, and waits for its session. */
export interface EndedSignIn {
  readonly userId: string;
  /** SHA-256, base64url, of what its session is fetched with beside the code; null: the code is enough. */
  readonly challenge: string | null;
}

const CHALLENGE = /^[\w-]{43}$/;

/** The way of a browser: to the provider, back with its answer, and on to where it came from with a code for the session. */
export class OidcSignIn {
  readonly #options: OidcSignInOptions;
  readonly #addresses: ReturnAddresses;
  /** Of the entry that the provider sends browsers back to. */
  readonly redirectUri: string;

  constructor(options: OidcSignInOptions) {
    this.#options = options;
    this.#addresses = new ReturnAddresses(options.publicUrl, options.returnTo);
    this.redirectUri = redirectUriOf(options.publicUrl);
  }

  /** Errors: INVALID (an address that is not allowed, a challenge that is none), SIGN_IN_UNAVAILABLE. */
  async begin(
    wanted: string | null,
    challenge: string | null,
  ): Promise<{ readonly location: string; readonly state: string; readonly browser: string }> {
    const returnTo = this.#addresses.resolve(wanted);
    if (returnTo === null) throw new ServiceError('INVALID', 'returnTo is not an address that may be returned to');
    if (challenge !== null && !CHALLENGE.test(challenge)) {
      throw new ServiceError('INVALID', 'challenge must be a SHA-256 in base64url');
    }
    const { provider, attempts } = this.#options;
    const checks = provider.newChecks();
    const browser = randomBytes(32).toString('base64url');
    const begun: Begun = { ...checks, returnTo, challenge, browser: sha256(browser) };
    const state = await attempts.keep('state', 'sso', begun);
    return { location: (await provider.addressOf(checks, state, this.redirectUri)).href, state, browser };
  }

  /**
   * Where the browser goes on, with `#code=…` or `#error=…`; null: nothing that this browser began is known by this state. `query`: what
   * the provider added to the address, as it came.
   */
  async end(query: string, browser: string | null, address: string): Promise<string | null> {
    const state = new URLSearchParams(query).get('state') ?? '';
    if (browser === null) return null;
    // Looked at before it is taken away: somebody else's browser must not end what this one began.
    const isBegunHere = (attempt: Begun) => isSame(attempt.browser, sha256(browser));
    const begun = await this.#options.attempts.take<Begun>('state', state, isBegunHere);
    if (begun === null) return null;
    try {
      const callback = new URL(`${this.redirectUri}?${query}`);
      const person = await this.#options.provider.personOf(callback, begun, state);
      const { userId } = await this.#options.accounts.admit(person);
      const ended: EndedSignIn = { userId, challenge: begun.challenge };
      const code = await this.#options.attempts.keep('code', 'sso', ended);
      return `${begun.returnTo}#code=${code}`;
    } catch (error) {
      const reason = this.#nameOf(error);
      this.#options.onRefused(error);
      this.#recordRefusal(error, reason, address);
      return `${begun.returnTo}#error=${reason}`;
    }
  }

  #recordRefusal(error: unknown, reason: string, address: string): void {
    const code = error instanceof ServiceError ? error.code : 'INTERNAL_ERROR';
    const result = code === 'UNAUTHORIZED' || code === 'NOT_ALLOWED' ? 'REFUSED' : 'FAILED';
    const after = { provider: 'sso', reason };
    void this.#options.audit.record({ operation: 'signIn', actor: NOBODY, address, after, result, code });
  }

  #nameOf(error: unknown): string {
    if (error instanceof ServiceError) {
      if (error.code === 'NOT_ALLOWED') return String(error.info?.reason).toLowerCase();
      if (error.code === 'SIGN_IN_UNAVAILABLE') return 'sign_in_unavailable';
      if (error.code === 'UNAUTHORIZED') return 'sign_in_failed';
    }
    this.#options.log.error({ err: error }, 'a sign-in could not be ended');
    return 'internal_error';
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** What the provider has to know this service by, as its address for browsers has it. */
export const redirectUriOf = (publicUrl: string): string => `${publicUrl.replace(/\/+$/, '')}/auth/oidc/callback`;
