import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client';
import type { Logger } from 'pino';
import type { Checked, CheckingProvider, ToldPerson } from '../providers.ts';
import { signInUnavailable } from '../refusals.ts';
import { type Claims, keptClaims } from '../rules/claim-values.ts';
import { type OidcClientOptions, OidcConfiguration } from './oidc-configuration.ts';
import { describeOidcError, isUnreachable, publicOidcError } from './oidc-errors.ts';

export interface OidcProviderOptions extends OidcClientOptions {
  readonly scopes: string;
  /** The claim that has a person's groups. */
  readonly groupsClaim: string;
  /** The provider vouches for all its addresses, also where it does not say so (`email_verified`). */
  readonly trustsEmail: boolean;
}

/** What the answer of the provider is checked with. */
export interface OidcChecks {
  readonly nonce: string;
  readonly verifier: string;
}

/** What a person is asked about with. */
interface OidcHandle {
  readonly refreshToken: string;
  /** Of the provider that gave it. */
  readonly issuer: string;
  /** Claims that only an ID token has told; not every provider sends one again. */
  readonly idToken: Claims;
}

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** One OpenID provider: authorisation code with PKCE, state and nonce (OpenID Connect Core 3.1, RFC 9700). */
export class OidcProvider implements CheckingProvider {
  readonly provider = 'sso';
  readonly #options: OidcProviderOptions;
  readonly #configuration: OidcConfiguration;
  readonly #log: Logger;
  #isToldOfNoRefresh = false;

  constructor(options: OidcProviderOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#configuration = new OidcConfiguration(options);
  }

  newChecks(): OidcChecks {
    return { nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
  }

  /** Where the browser goes to sign in. Errors: SIGN_IN_UNAVAILABLE. */
  async addressOf({ nonce, verifier }: OidcChecks, state: string, redirectUri: string): Promise<URL> {
    return buildAuthorizationUrl(await this.#configuration.get(), {
      redirect_uri: redirectUri,
      scope: this.#options.scopes,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      // Without it many providers give no refresh token for this scope (OpenID Connect Core 11).
      ...(this.#options.scopes.split(' ').includes('offline_access') ? { prompt: 'consent' } : {}),
    });
  }

  /** Who came back with this address. Errors: UNAUTHORIZED, NOT_ALLOWED (the person said no), SIGN_IN_UNAVAILABLE. */
  async personOf(callback: URL, { nonce, verifier }: OidcChecks, state: string): Promise<ToldPerson> {
    try {
      const configuration = await this.#configuration.get();
      const tokens = await authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const idToken = (tokens.claims() ?? {}) as Claims;
      const userInfo = await this.#userInfo(configuration, tokens, String(idToken.sub));
      const claims = this.#told(idToken, userInfo);
      return {
        provider: 'sso',
        subject: subjectOf(idToken),
        email: textOf(claims.email),
        isEmailVerified: Object.hasOwn(claims, 'email'),
        name: textOf(claims.name) ?? textOf(claims.preferred_username),
        claims,
        handle: this.#handleOf(configuration, tokens.refresh_token, idToken),
      };
    } catch (error) {
      this.#log.warn({ error: describeOidcError(error) }, 'a sign-in at the OpenID provider failed');
      throw publicOidcError(error);
    }
  }

  async check({ subject, handle }: { readonly subject: string; readonly handle: string }): Promise<Checked> {
    const { refreshToken, issuer, idToken } = JSON.parse(handle) as OidcHandle;
    const configuration = await this.#configuration.get();
    // Of a provider that was asked before: this one knows nothing of the person, and must not see the other's refresh token.
    if (issuer !== configuration.serverMetadata().issuer) return { outcome: 'GONE' };
    let tokens: Tokens;
    try {
      tokens = await refreshTokenGrant(configuration, refreshToken);
    } catch (error) {
      // RFC 6749 5.2: the grant has ended, by the person, an administrator or its age.
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return { outcome: 'GONE' };
      throw this.#unchecked(error);
    }
    const again = tokens.claims() as Claims | undefined;
    // OpenID Connect Core 12.2: it must be the same person's.
    if (again !== undefined && subjectOf(again) !== subject) return { outcome: 'GONE' };
    const told = again ?? idToken;
    const userInfo = await this.#userInfo(configuration, tokens, String(idToken.sub)).catch((error: unknown) => {
      throw this.#unchecked(error);
    });
    const { groupsClaim } = this.#options;
    return {
      outcome: 'THERE',
      claims: this.#told(told, userInfo),
      handle: this.#handleOf(configuration, tokens.refresh_token ?? refreshToken, told) ?? handle,
      isWhole: again !== undefined || Object.hasOwn(userInfo, groupsClaim) || !Object.hasOwn(idToken, groupsClaim),
    };
  }

  async #userInfo(configuration: Configuration, { access_token }: Tokens, subject: string): Promise<Claims> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    return fetchUserInfo(configuration, access_token, subject);
  }

  /** What rules look at. An address that the provider does not vouch for is not in it: at many providers people write what they like there. */
  #told(idToken: Claims, userInfo: Claims): Claims {
    const { email, ...others } = { ...idToken, ...userInfo };
    const isVouchedFor = email !== undefined && this.#isVerified(emailOf(idToken, userInfo));
    return this.#kept(isVouchedFor ? { email, ...others } : others);
  }

  #kept(claims: Claims): Claims {
    const first = ['sub', 'email', 'email_verified', 'name', 'preferred_username', this.#options.groupsClaim];
    const { kept, left } = keptClaims(claims, first);
    if (left.length > 0) this.#log.warn({ claims: left }, 'claims of a person are too large and were left out');
    return kept;
  }

  #handleOf(configuration: Configuration, refreshToken: string | undefined, claims: Claims): string | null {
    if (refreshToken === undefined) {
      if (!this.#isToldOfNoRefresh) {
        this.#log.warn('the OpenID provider gives no refresh token, so people cannot be checked after they signed in');
        this.#isToldOfNoRefresh = true;
      }
      return null;
    }
    const { issuer } = configuration.serverMetadata();
    return JSON.stringify({ refreshToken, issuer, idToken: this.#kept(claims) } satisfies OidcHandle);
  }

  #isVerified({ email_verified: said }: Claims): boolean {
    return said === true || said === 'true' || (said === undefined && this.#options.trustsEmail);
  }

  /** What is no word about the person is a word about the provider; the log has it. */
  #unchecked(error: unknown): Error {
    if (!isUnreachable(error)) this.#log.warn({ error: describeOidcError(error) }, 'a person could not be checked');
    return signInUnavailable();
  }
}

/** A `sub` is unique within its issuer alone (OpenID Connect Core 2), and the issuer asked here may be another one tomorrow. */
const subjectOf = ({ iss, sub }: Claims): string => `${String(iss)} ${String(sub)}`;

/** What is said of an address counts for that address: the claim of an ID token not for another one that the user info tells. */
const emailOf = (idToken: Claims, userInfo: Claims): Claims =>
  Object.hasOwn(userInfo, 'email') && userInfo.email !== idToken.email ? userInfo : { ...idToken, ...userInfo };

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
