import {
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import type { Finding } from '../finding.ts';
import { readConfiguration } from './oidc-configuration.ts';
import { describeOidcError } from './oidc-errors.ts';
import type { OidcProviderOptions } from './oidc-provider.ts';

const TIMEOUT_MS = 10_000;
const NO_SUCH_CLIENT = 'the provider does not take OIDC_CLIENT_ID with OIDC_CLIENT_SECRET';

/** Asks the provider what signing in asks it, without anybody who signs in. */
export async function examineOidc(
  options: Omit<OidcProviderOptions, 'log'>,
  redirectUri: string,
): Promise<readonly Finding[]> {
  const mustKnow = `the provider has to know the redirect address ${redirectUri} (PUBLIC_URL)`;
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(options);
  } catch (error) {
    const told = [`${options.issuer} could not be asked about itself: ${describeOidcError(error)}`, mustKnow];
    return [{ setting: 'OIDC_ISSUER', works: false, told }];
  }
  const provider = { setting: 'OIDC_ISSUER', works: true, told: [`${options.issuer} tells about itself`] };
  const [client, browser] = await Promise.all([
    refusedClient(configuration),
    refusedBrowser(configuration, options, redirectUri),
  ]);
  const told = [...(client === null ? [] : [client]), ...(browser === null ? [] : [browser, mustKnow])];
  const works = told.length === 0;
  return [
    provider,
    { setting: 'OIDC_CLIENT_ID', works, told: works ? [`it is known there, with ${redirectUri}`] : told },
  ];
}

/** A refresh token that nobody has: who refuses the client says so before looking at it (RFC 6749 5.2). */
async function refusedClient(configuration: Configuration): Promise<string | null> {
  try {
    await refreshTokenGrant(configuration, 'brokergraph-doctor');
    return null;
  } catch (error) {
    // Basic authentication is answered with a challenge (RFC 6749 5.2).
    if (error instanceof WWWAuthenticateChallengeError && error.status === 401) return NO_SUCH_CLIENT;
    if (!(error instanceof ResponseBodyError)) return `the token endpoint failed: ${describeOidcError(error)}`;
    return error.error === 'invalid_client' ? NO_SUCH_CLIENT : null;
  }
}

/**
 * As a browser that is not signed in, and may not be asked (`prompt=none`): a provider that knows client and address sends it back
 * there (OpenID Connect Core 3.1.2.6), one that does not tells it on a page of its own.
 */
async function refusedBrowser(
  configuration: Configuration,
  { scopes }: Omit<OidcProviderOptions, 'log'>,
  redirectUri: string,
): Promise<string | null> {
  const address = buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: scopes,
    code_challenge: await calculatePKCECodeChallenge(randomPKCECodeVerifier()),
    code_challenge_method: 'S256',
    state: randomState(),
    nonce: randomNonce(),
    prompt: 'none',
  });
  try {
    const { status, headers } = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const location = headers.get('location');
    if (location === null || !location.startsWith(redirectUri)) {
      // Some lead to their form all the same.
      return status < 400 ? null : `the provider refuses this client with this redirect address (status ${status})`;
    }
    const error = new URL(location).searchParams.get('error') ?? '';
    return ['invalid_scope', 'unauthorized_client', 'unsupported_response_type', 'invalid_request'].includes(error)
      ? `the provider refuses what is asked for: ${error} (OIDC_SCOPES is "${scopes}")`
      : null;
  } catch (error) {
    return `the address that browsers are sent to failed: ${describeOidcError(error)}`;
  }
}
