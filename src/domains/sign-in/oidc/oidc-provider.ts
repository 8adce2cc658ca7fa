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
import type { CheckedUser, CheckingProvider, ExternalUser } from '../providers.ts';
import { type Claims, limitedClaims, OMITTED_CLAIMS } from '../rules/claim-values.ts';
import { signInUnavailable } from '../sign-in-errors.ts';
import { hidesGroups, IN_PLACE_OF_GROUPS, TOO_MANY_GROUPS } from './hidden-groups.ts';
import { type OidcClientOptions, OidcConfiguration } from './oidc-configuration.ts';
import { describeOidcError, isUnreachable, publicOidcError } from './oidc-errors.ts';

export interface OidcProviderOptions extends OidcClientOptions {
  readonly scopes: string;
  readonly groupsClaim: string;
  /** Claim with the e-mail address. Only that of `email` can be verified by the provider. */
  readonly emailClaim: string;
  /** Whether all e-mail addresses are treated as verified if the claim `email_verified` is missing. */
  readonly trustsEmail: boolean;
}

export interface OidcChecks {
  readonly nonce: string;
  readonly verifier: string;
}

interface OidcHandle {
  readonly refreshToken: string;
  readonly issuer: string;
  /** Claims of the first ID token: some providers send no ID token on refresh. */
  readonly idToken: Claims;
}

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** One OpenID provider: authorisation code with PKCE, state and nonce (OpenID Connect Core 3.1, RFC 9700). */
export class OidcProvider implements CheckingProvider {
  readonly provider = 'sso';
  readonly #options: OidcProviderOptions;
  readonly #configuration: OidcConfiguration;
  readonly #log: Logger;
  #hasLoggedNoRefresh = false;

  constructor(options: OidcProviderOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#configuration = new OidcConfiguration(options);
  }

  newChecks(): OidcChecks {
    return { nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
  }

  /** The address to which the browser is redirected for the sign-in. Errors: SIGN_IN_UNAVAILABLE. */
  async addressOf({ nonce, verifier }: OidcChecks, state: string, redirectUri: string): Promise<URL> {
    return buildAuthorizationUrl(await this.#configuration.get(), {
      redirect_uri: redirectUri,
      scope: this.#options.scopes,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      // Without `prompt=consent` many providers send no refresh token for this scope (OpenID Connect Core 11).
      ...(this.#options.scopes.split(' ').includes('offline_access') ? { prompt: 'consent' } : {}),
    });
  }

  /** The user of a callback. Errors: UNAUTHORIZED, NOT_ALLOWED (the user denied access), SIGN_IN_UNAVAILABLE. */
  async userOf(callback: URL, { nonce, verifier }: OidcChecks, state: string): Promise<ExternalUser> {
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
      const claims = this.#claimsOf(idToken, userInfo);
      const { emailClaim, groupsClaim, trustsEmail } = this.#options;
      const subject = subjectOf(idToken);
      const isHidden = hidesGroups(claims, groupsClaim);
      if (isHidden) this.#log.warn({ subject }, TOO_MANY_GROUPS);
      return {
        provider: 'sso',
        subject,
        email: textOf({ ...idToken, ...userInfo }[emailClaim]),
        isEmailVerified: emailClaim === 'email' ? Object.hasOwn(claims, 'email') : trustsEmail,
        name: textOf(claims.name) ?? textOf(claims.preferred_username),
        claims,
        ...(isHidden && { missingGroups: TOO_MANY_GROUPS }),
        handle: this.#handleOf(configuration, tokens.refresh_token, idToken),
      };
    } catch (error) {
      this.#log.warn({ error: describeOidcError(error) }, 'a sign-in at the OpenID provider failed');
      throw publicOidcError(error);
    }
  }

  async check({ subject, claims: known, handle }: Parameters<CheckingProvider['check']>[0]): Promise<CheckedUser> {
    const { refreshToken, issuer, idToken } = JSON.parse(handle) as OidcHandle;
    const configuration = await this.#configuration.get();
    // The configured provider changed, and must not receive the refresh token of another one.
    if (issuer !== configuration.serverMetadata().issuer) return { outcome: 'GONE' };
    let tokens: Tokens;
    try {
      tokens = await refreshTokenGrant(configuration, refreshToken);
    } catch (error) {
      // RFC 6749 5.2: the grant was revoked or has expired.
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return { outcome: 'GONE' };
      throw this.#unchecked(error);
    }
    const again = tokens.claims() as Claims | undefined;
    // OpenID Connect Core 12.2: the subject must be the same.
    if (again !== undefined && subjectOf(again) !== subject) return { outcome: 'GONE' };
    const latestIdToken = again ?? idToken;
    const userInfo = await this.#userInfo(configuration, tokens, String(idToken.sub)).catch((error: unknown) => {
      throw this.#unchecked(error);
    });
    const { groupsClaim } = this.#options;
    const claims = this.#claimsOf(latestIdToken, userInfo);
    const isHidden = hidesGroups(claims, groupsClaim);
    if (isHidden) this.#log.warn({ subject }, TOO_MANY_GROUPS);
    return {
      outcome: 'ACTIVE',
      claims: isHidden && Object.hasOwn(known, groupsClaim) ? { ...claims, [groupsClaim]: known[groupsClaim] } : claims,
      handle: this.#handleOf(configuration, tokens.refresh_token ?? refreshToken, latestIdToken) ?? handle,
      isComplete:
        !isHidden &&
        (again !== undefined || Object.hasOwn(userInfo, groupsClaim) || !Object.hasOwn(idToken, groupsClaim)),
    };
  }

  async #userInfo(configuration: Configuration, { access_token }: Tokens, subject: string): Promise<Claims> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    return fetchUserInfo(configuration, access_token, subject);
  }

  /**
   * The claims for sign-in rules, with only a verified e-mail address: at many providers users can enter any address.
   */
  #claimsOf(idToken: Claims, userInfo: Claims): Claims {
    const { email, ...others } = { ...idToken, ...userInfo };
    const isVerified = email !== undefined && this.#isVerified(emailClaimsOf(idToken, userInfo));
    return this.#limited(isVerified ? { email, ...others } : others);
  }

  #limited(claims: Claims): Claims {
    const { groupsClaim } = this.#options;
    const first = ['sub', 'email', 'email_verified', 'name', 'preferred_username', groupsClaim, ...IN_PLACE_OF_GROUPS];
    const { included, omitted } = limitedClaims(claims, first);
    if (omitted.length > 0) this.#log.warn({ claims: omitted }, OMITTED_CLAIMS);
    return included;
  }

  #handleOf(configuration: Configuration, refreshToken: string | undefined, claims: Claims): string | null {
    if (refreshToken === undefined) {
      if (!this.#hasLoggedNoRefresh) {
        this.#log.warn('the OpenID provider sends no refresh token, so users cannot be checked after they signed in');
        this.#hasLoggedNoRefresh = true;
      }
      return null;
    }
    const { issuer } = configuration.serverMetadata();
    return JSON.stringify({ refreshToken, issuer, idToken: this.#limited(claims) } satisfies OidcHandle);
  }

  #isVerified({ email_verified: isVerified }: Claims): boolean {
    return isVerified === true || isVerified === 'true' || (isVerified === undefined && this.#options.trustsEmail);
  }

  /** The error of a failed check. Logs it unless the provider is unavailable, which the caller logs. */
  #unchecked(error: unknown): Error {
    if (!isUnreachable(error)) this.#log.warn({ error: describeOidcError(error) }, 'could not check a user');
    return signInUnavailable();
  }
}

/** Contains the issuer, because `sub` is unique only within an issuer (OpenID Connect Core 2). */
const subjectOf = ({ iss, sub }: Claims): string => `${String(iss)} ${String(sub)}`;

/** `email_verified` of the ID token does not apply to another address of the user info. */
const emailClaimsOf = (idToken: Claims, userInfo: Claims): Claims =>
  Object.hasOwn(userInfo, 'email') && userInfo.email !== idToken.email ? userInfo : { ...idToken, ...userInfo };

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
