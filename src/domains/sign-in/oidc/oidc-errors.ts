import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { ServiceError } from '../../../platform/errors.ts';
import { signInRefused, signInUnavailable } from '../refusals.ts';
import { TooLargeAnswer } from './bounded-fetch.ts';

const MAX_TOLD = 300;

/** Words for the log. The errors themselves carry answers of the provider, with tokens in them. */
export function describeOidcError(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    return `answered ${error.error}${error.error_description ? `: ${error.error_description.slice(0, MAX_TOLD)}` : ''}`;
  }
  if (error instanceof ClientError) return `${error.code ?? error.name}: ${error.message}`;
  if (!(error instanceof Error)) return 'unknown';
  const cause =
    error.cause instanceof Error ? ` (${'code' in error.cause ? error.cause.code : error.cause.message})` : '';
  return `${error.message}${cause}`;
}

/** What a caller may know of a failure at the provider. */
export function publicOidcError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied')
    return signInRefused('ACCESS_DENIED');
  if (isUnreachable(error)) return signInUnavailable();
  return new ServiceError('UNAUTHORIZED', 'The sign-in failed: what the provider answered is not what was asked for');
}

/** The provider did not answer, or nothing that is an answer, or says itself that it cannot now. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === 'SIGN_IN_UNAVAILABLE';
  if (error instanceof TooLargeAnswer) return true;
  if (error instanceof ResponseBodyError) return error.status >= 500 || error.status === 429;
  if (error instanceof AuthorizationResponseError)
    return ['server_error', 'temporarily_unavailable'].includes(error.error);
  if (error instanceof ClientError) {
    return ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'].includes(
      error.code ?? '',
    );
  }
  // It does not answer, or ends in the middle of its answer.
  return error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message);
}
