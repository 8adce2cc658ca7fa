import { GraphQLError } from 'graphql';
import { ERROR_STATUS } from '../../../platform/errors.ts';
import { JSON_TYPE } from '../../http/accept.ts';
import type { GraphqlResponse } from '../endpoint.ts';
import { accepted, compressedBody, rendered, type TransportOptions } from '../http.ts';
import { LiveResults } from '../live/live-results.ts';
import { type ErrorContext, publicError } from '../public-error.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** Responds with the result as JSON, also if the request was refused before its operation started. */
export function jsonResults({ endpoint: { log }, traffic }: TransportOptions): YogaPlugin {
  return {
    onResultProcess({ request, result, serverContext, setResultProcessor }) {
      const { outcome, requestId, res } = serverContext;
      if (outcome instanceof LiveResults) return;
      const type = accepted(request.headers.get('accept')).type ?? JSON_TYPE;
      setResultProcessor(async (_result, { Response }) => {
        const response = outcome ?? refusalOf(result, { requestId, log });
        const { status, headers, body } = rendered(response, type);
        const accept = res?.req.headers['accept-encoding'];
        const bytes = (await compressedBody(response, headers, body, accept, traffic)) ?? Buffer.from(body.text);
        if (res !== null) traffic.responding(res, bytes.length);
        return new Response(bytes, { status, headers });
      }, type);
    },
  };
}

/** The response to a request that Yoga or a plugin refused. Their errors may have an HTTP status (`http`). */
function refusalOf(result: object, context: ErrorContext): GraphqlResponse {
  const [error]: unknown[] = 'errors' in result && Array.isArray(result.errors) ? result.errors : [];
  const { message, extensions } = publicError(error, context);
  const { http } = (error instanceof GraphQLError ? error.extensions : {}) as { http?: { readonly status: number } };
  if (http === undefined) return { result: { errors: [{ message, extensions }] }, wellFormed: false };
  const code = http.status === ERROR_STATUS.METHOD_NOT_ALLOWED ? 'METHOD_NOT_ALLOWED' : extensions.code;
  return { result: { errors: [{ message, extensions: { code } }] }, wellFormed: false, status: http.status };
}
