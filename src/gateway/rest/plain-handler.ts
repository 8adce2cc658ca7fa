import { ERROR_STATUS } from '../../platform/errors.ts';
import { type ErrorLog, publicError } from '../graphql/public-error.ts';
import { errorHeaders } from '../http/error-headers.ts';
import { type FetchHandler, jsonResponse } from '../http/fetch-handler.ts';
import { RestRequest } from './rest-request.ts';

/** A handler for a path that is neither REST nor GraphQL. An error of `respond` becomes a response as REST has it. */
export const plainHandler =
  (respond: (rest: RestRequest) => Promise<Response>, log: ErrorLog): FetchHandler =>
  async (request, origin) => {
    const rest = new RestRequest(request, origin);
    const { requestId } = rest;
    const response = await respond(rest).catch((error: unknown) => {
      const { message, extensions } = publicError(error, { requestId, log });
      const status = ERROR_STATUS[extensions.code];
      return jsonResponse(status, { message, ...extensions, status }, errorHeaders(status, extensions.info));
    });
    response.headers.set('x-request-id', requestId);
    return response;
  };
