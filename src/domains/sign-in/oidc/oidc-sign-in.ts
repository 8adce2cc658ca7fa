import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { ServiceError } from '../../../platform/errors.ts';
import { NOBODY } from '../../audit/audit-event.ts';
import type { AuditService } from '../../audit/audit-service.ts';
import type { SignInAccounts } from '../accounts.ts';
import type { SignInAttempts } from '../sign-in-attempts.ts';
import type { OidcChecks, OidcProvider } from './oidc-provider.ts';

interface OidcSignInOptions {
  readonly provider: OidcProvider;
  readonly attempts: SignInAttempts;
  readonly accounts: SignInAccounts;
  readonly audit: Pick<AuditService, 'record'>;
  readonly publicUrl: string;
  readonly returnTo: readonly string[];
  readonly onRefused: (error: unknown) => void;
  readonly log: Logger;
}

interface BegunSignIn extends OidcChecks {
  readonly returnTo: string;
  /** SHA-256 of the cookie of the browser, so that another browser cannot complete the sign-in. */
  readonly browser: string;
  readonly challenge: string | null;
}

export interface EndedSignIn {
  readonly userId: string;
  /** SHA-256, in base64url, of the verifier that is required with the code. `null` if the code suffices. */
  readonly challenge: string | null;
}

const CHALLENGE = /^[\w-]{43}$/;

/** The sign-in of a browser: redirect to the provider, callback, and redirect to the return address with a code. */
export class OidcSignIn {
  readonly #options: OidcSignInOptions;
  readonly redirectUri: string;

  constructor(options: OidcSignInOptions) {
    this.#options = options;
    this.redirectUri = redirectUriOf(options.publicUrl);
  }

  /** Errors: INVALID (return address not allowed, invalid challenge), SIGN_IN_UNAVAILABLE. */
  async begin(
    wanted: string | null,
    challenge: string | null,
  ): Promise<{ readonly location: string; readonly state: string; readonly browser: string }> {
    const returnTo = returnAddress(wanted, this.#options);
    if (returnTo === null)
      throw new ServiceError('INVALID', 'returnTo is not an allowed address; add it to SIGN_IN_RETURN_TO');
    if (challenge !== null && !CHALLENGE.test(challenge)) {
      throw new ServiceError('INVALID', 'challenge must be a SHA-256 in base64url');
    }
    const { provider, attempts } = this.#options;
    const checks = provider.newChecks();
    const browser = randomBytes(32).toString('base64url');
    const begun: BegunSignIn = { ...checks, returnTo, challenge, browser: sha256(browser) };
    const state = await attempts.store('state', 'sso', begun);
    return { location: (await provider.addressOf(checks, state, this.redirectUri)).href, state, browser };
  }

  /**
   * Handles the callback with the unchanged query. Returns the address to redirect to, with `#code=…` or `#error=…`.
   * `null` if this browser has no pending sign-in with this state.
   */
  async end(query: string, browser: string | null, address: string): Promise<string | null> {
    const state = new URLSearchParams(query).get('state') ?? '';
    if (browser === null) return null;
    // Checked before the attempt is deleted: another browser must not end the sign-in.
    const isBegunHere = (attempt: BegunSignIn) => isSame(attempt.browser, sha256(browser));
    const begun = await this.#options.attempts.take<BegunSignIn>('state', state, isBegunHere);
    if (begun === null) return null;
    try {
      const callback = new URL(`${this.redirectUri}?${query}`);
      const user = await this.#options.provider.userOf(callback, begun, state);
      const { userId } = await this.#options.accounts.admit(user);
      const ended: EndedSignIn = { userId, challenge: begun.challenge };
      const code = await this.#options.attempts.store('code', 'sso', ended);
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
    this.#options.log.error({ err: error }, 'a sign-in at the OpenID provider failed');
    return 'internal_error';
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/**
 * The absolute return address, or `null` if it is not allowed: its owner receives the code for the session. An address
 * may be below an allowed one and have a query, but no fragment, which contains the code. Default: the console.
 */
function returnAddress(
  wanted: string | null,
  { publicUrl, returnTo }: Pick<OidcSignInOptions, 'publicUrl' | 'returnTo'>,
): string | null {
  const base = new URL(publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`);
  if (wanted === null || wanted === '') return base.href;
  if (!URL.canParse(wanted, base)) return null;
  const address = new URL(wanted, base);
  const isPlain = address.username === '' && address.password === '' && address.hash === '' && !wanted.includes('#');
  const allowed = [base, ...returnTo.map((known) => new URL(known))];
  return isPlain && allowed.some((known) => isBelow(address, known)) ? address.href : null;
}

function isBelow(address: URL, known: URL): boolean {
  if (address.origin === 'null' || address.origin !== known.origin) return false;
  const folder = known.pathname.endsWith('/') ? known.pathname : `${known.pathname}/`;
  return address.pathname === known.pathname || address.pathname.startsWith(folder);
}

export const redirectUriOf = (publicUrl: string): string => `${publicUrl.replace(/\/+$/, '')}/auth/oidc/callback`;
