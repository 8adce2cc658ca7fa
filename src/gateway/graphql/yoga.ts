/** Yoga serves queries by GET. The Endpoint executes them, so that all transports return the same responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { Endpoint, GraphqlResponse } from './endpoint.ts';
import { acceptedType, headersFor, JSON_TYPE, statusOf, type TransportOptions } from './http.ts';
import { type PublicError, publicError } from './public-error.ts';

interface ServerContext {
  readonly res: ServerResponse;
  readonly requestContext: RequestContext;
}

export type YogaHandler = (req: IncomingMessage, res: ServerResponse, context: RequestContext) => Promise<void>;

export function createYogaHandler({ endpoint, maxBodyBytes, traffic }: TransportOptions): YogaHandler {
  // Yoga passes results through unchanged. A result that is not in this map was created by Yoga.
  const responses = new WeakMap<object, GraphqlResponse>();
  const plugin: Plugin<ServerContext> = {
    onParams({ params, request, setParamsHandler }) {
      setParamsHandler(async ({ context }) => {
        const { requestContext } = context as unknown as ServerContext;
        const response = await endpoint.run(params, requestContext, { queriesOnly: request.method === 'GET' });
        responses.set(response.result, response);
        return response.result as never;
      });
    },
    onResultProcess({ request, result, setResultProcessor, serverContext }) {
      const type = acceptedType(request.headers.get('accept') ?? undefined);
      if (type === null || Symbol.asyncIterator in result) return;
      const responseOf = (given: object) => {
        const { requestContext } = serverContext as unknown as ServerContext;
        return responses.get(given) ?? refusedByYoga(given, requestContext, endpoint);
      };
      setResultProcessor((given, { Response }) => {
        const response = responseOf(given);
        const status = statusOf(response, type);
        const text = JSON.stringify(response.result);
        traffic.responding((serverContext as unknown as ServerContext).res, text.length);
        return new Response(text, { status, headers: headersFor(status, type) });
      }, JSON_TYPE);
    },
  };
  const yoga = createYoga<ServerContext>({
    schema: endpoint.operations.schema,
    graphqlEndpoint: '/graphql',
    maskedErrors: false,
    multipart: false,
    cors: false,
    landingPage: false,
    parserAndValidationCache: false,
    maxRequestBodySize: maxBodyBytes,
    logging: false,
    graphiql: false,
    plugins: [plugin],
  });
  return async (req, res, requestContext) => {
    await yoga.handle(req, res, { requestContext, res });
  };
}

/** Response of a request that Yoga refused before the operation started. */
function refusedByYoga(result: unknown, { requestId }: RequestContext, { log }: Endpoint): GraphqlResponse {
  const given = typeof result === 'object' && result !== null && 'errors' in result ? result.errors : [];
  const errors = (Array.isArray(given) ? given : []).map((error: unknown): PublicError => {
    const code = error instanceof GraphQLError ? refusalCode(error) : null;
    if (code && error instanceof Error) return { message: error.message, extensions: { code } };
    return publicError(error, { requestId, log });
  });
  return { result: { errors }, wellFormed: false };
}

function refusalCode({ extensions, originalError }: GraphQLError): ErrorCode | null {
  const { http } = extensions as {
    readonly http?: { readonly status?: number };
  };
  if (http?.status === 413) return 'TOO_LARGE';
  const isClientFault = (http?.status !== undefined && http.status < 500) || originalError instanceof SyntaxError;
  return isClientFault ? 'INVALID' : null;
}
