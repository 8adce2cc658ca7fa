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
import type { SettingCheck } from '../setting-check.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { readConfiguration } from './oidc-configuration.ts';
import { describeOidcError } from './oidc-errors.ts';
import type { OidcProviderOptions } from './oidc-provider.ts';

const TIMEOUT_MS = 10_000;
const UNKNOWN_CLIENT = 'the provider does not accept OIDC_CLIENT_ID with OIDC_CLIENT_SECRET';

/** Sends the requests of a sign-in to the provider, without a user. */
export async function checkOidcSettings(
  options: Omit<OidcProviderOptions, 'log'>,
  redirectUri: string,
): Promise<readonly SettingCheck[]> {
  const redirectHint = `register the redirect address ${redirectUri} (PUBLIC_URL) at the provider`;
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(options);
  } catch (error) {
    const messages = [`cannot read the metadata of ${options.issuer}: ${describeOidcError(error)}`, redirectHint];
    return [{ setting: 'OIDC_ISSUER', works: false, messages }];
  }
  const provider = { setting: 'OIDC_ISSUER', works: true, messages: [`${options.issuer} returns its metadata`] };
  const [client, browser] = await Promise.all([
    refusedClient(configuration),
    refusedBrowser(configuration, options, redirectUri),
  ]);
  const problems = [...(client === null ? [] : [client]), ...(browser === null ? [] : [browser, redirectHint])];
  const works = problems.length === 0;
  const messages = works ? [`the provider accepts the client with ${redirectUri}`] : problems;
  return [provider, { setting: 'OIDC_CLIENT_ID', works, messages }];
}

async function refusedClient(configuration: Configuration): Promise<string | null> {
  try {
    await refreshTokenGrant(configuration, 'brokergraph-doctor');
    return null;
  } catch (error) {
    // The response to failed Basic authentication is a challenge (RFC 6749 5.2).
    if (error instanceof WWWAuthenticateChallengeError && error.status === 401) return UNKNOWN_CLIENT;
    if (!(error instanceof ResponseBodyError)) return `the token endpoint failed: ${describeOidcError(error)}`;
    return error.error === 'invalid_client' ? UNKNOWN_CLIENT : null;
  }
}

/**
 * Sends a request with `prompt=none`. A provider that accepts the client and the redirect address redirects back
 * (OpenID Connect Core 3.1.2.6); otherwise it shows an error page.
 */
async function refusedBrowser(
  configuration: Configuration,
  { issuer, scopes }: Omit<OidcProviderOptions, 'log'>,
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
    const { status, headers } = await boundedFetch(issuer)(address.href, {
      ...{ method: 'GET', headers: {}, body: null, redirect: 'manual' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const location = headers.get('location');
    if (location === null || !location.startsWith(redirectUri)) {
      // Some providers ignore `prompt=none` and show their form.
      return status < 400 ? null : `the provider refuses this client with this redirect address (status ${status})`;
    }
    const error = new URL(location).searchParams.get('error') ?? '';
    return ['invalid_scope', 'unauthorized_client', 'unsupported_response_type', 'invalid_request'].includes(error)
      ? `the provider refuses the request: ${error} (OIDC_SCOPES is "${scopes}")`
      : null;
  } catch (error) {
    return `the authorization endpoint failed: ${describeOidcError(error)}`;
  }
}
