import { ERROR_STATUS } from '../../platform/errors.ts';
import { type ErrorContext, publicError } from '../graphql/public-error.ts';
import { errorHeaders } from './error-headers.ts';
import { jsonResponse } from './fetch-handler.ts';

/** The response to a request that was refused, for paths that are neither REST nor GraphQL. */
export function errorResponse(error: unknown, context: ErrorContext): Response {
  const { message, extensions } = publicError(error, context);
  const status = ERROR_STATUS[extensions.code];
  return jsonResponse(status, { message, ...extensions, status }, errorHeaders(status, extensions.info));
}
