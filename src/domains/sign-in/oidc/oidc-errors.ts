import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { ServiceError } from '../../../platform/errors.ts';
import { tlsProblem } from '../../../platform/network/tls-failure.ts';
import { signInRefused, signInUnavailable } from '../sign-in-errors.ts';
import { ResponseTooLarge } from './bounded-fetch.ts';

const MAX_DESCRIPTION = 300;

/** A description for the log. The errors themselves contain responses of the provider with tokens. */
export function describeOidcError(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const description = error.error_description?.slice(0, MAX_DESCRIPTION);
    return `the provider returned ${error.error}${description ? `: ${description}` : ''}`;
  }
  if (error instanceof ClientError) {
    // The error inside names the claim or the member that is wrong, without its value.
    const { message } = error.cause instanceof Error ? error.cause : error;
    return `${error.code ?? error.name}: ${message}`;
  }
  if (!(error instanceof Error)) return 'unknown';
  const problem = tlsProblem(error.cause, { name: 'the provider', ca: 'NODE_EXTRA_CA_CERTS' });
  if (problem !== null) return problem;
  const cause =
    error.cause instanceof Error ? ` (${'code' in error.cause ? error.cause.code : error.cause.message})` : '';
  return `${error.message}${cause}`;
}

export function publicOidcError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied')
    return signInRefused('ACCESS_DENIED');
  if (isUnreachable(error)) return signInUnavailable();
  return new ServiceError('UNAUTHORIZED', 'The sign-in failed: the response of the provider is invalid');
}

/** Whether the provider did not respond, sent an invalid response, or reported that it is unavailable. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === 'SIGN_IN_UNAVAILABLE';
  if (error instanceof ResponseTooLarge) return true;
  if (error instanceof ResponseBodyError) return error.status >= 500 || error.status === 429;
  if (error instanceof AuthorizationResponseError)
    return ['server_error', 'temporarily_unavailable'].includes(error.error);
  if (error instanceof ClientError) {
    return ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'].includes(
      error.code ?? '',
    );
  }
  // `fetch failed`: no response. `terminated`: the connection was closed during the response.
  return error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message);
}
