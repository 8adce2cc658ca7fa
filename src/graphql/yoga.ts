/**
 * Yoga serves what the short road does not: GraphiQL, queries by GET, and subscriptions as server-sent events. Operations,
 * limits, masking and statuses are the endpoint's own, so that both roads give one answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { RequestContext } from '../context.ts';
import type { ErrorCode } from '../errors.ts';
import type { Answer, Endpoint } from './endpoint.ts';
import { GRAPHIQL_OPTIONS, graphiqlRenderer } from './graphiql.ts';
import { acceptedType, EVENT_STREAM, headersFor, JSON_TYPE, statusOf } from './http.ts';
import { type PublicError, publicError } from './public-error.ts';

export interface YogaRoadOptions {
  readonly endpoint: Endpoint;
  readonly maxBodyBytes: number;
  /** Path of the endpoint. */
  readonly path: string;
}

/** What Yoga carries for us from the request to the operation. */
interface ServerContext {
  readonly requestContext: RequestContext;
}

export type YogaRoad = (req: IncomingMessage, res: ServerResponse, context: RequestContext) => Promise<void>;

export function createYogaRoad({ endpoint, maxBodyBytes, path }: YogaRoadOptions): YogaRoad {
  // Yoga passes results through as they are; these tell ours from its own.
  const answers = new WeakMap<object, Answer>();
  const plugin: Plugin<ServerContext> = {
    onParams({ params, request, setParamsHandler }) {
      setParamsHandler(async ({ context }) => {
        const { requestContext } = context as unknown as ServerContext;
        const queriesOnly = request.method === 'GET';
        const streams = request.headers.get('accept')?.includes(EVENT_STREAM) === true;
        const answer = streams
          ? await endpoint.start(params, requestContext, undefined, {
              queriesOnly,
            })
          : await endpoint.run(params, requestContext, { queriesOnly });
        if (Symbol.asyncIterator in answer) return answer as never;
        answers.set(answer.result, answer);
        return answer.result as never;
      });
    },
    onResultProcess({ request, result, resultProcessor, setResultProcessor, serverContext }) {
      const type = acceptedType(request.headers.get('accept') ?? undefined);
      const streams = request.headers.get('accept')?.includes(EVENT_STREAM) === true;
      if (Symbol.asyncIterator in result) return;
      const answerOf = (given: object) => {
        const { requestContext } = serverContext as unknown as ServerContext;
        return answers.get(given) ?? refusedByYoga(given, requestContext, endpoint);
      };
      if (streams && resultProcessor) {
        // One answer as a stream of one event, with the status that it has by every other road.
        setResultProcessor((given, { Response }) => {
          const answer = answerOf(given);
          const status = statusOf(answer, JSON_TYPE);
          const body = `event: next\ndata: ${JSON.stringify(answer.result)}\n\nevent: complete\ndata:\n\n`;
          const headers = { ...headersFor(status, JSON_TYPE), 'content-type': EVENT_STREAM };
          return new Response(body, { status, headers });
        }, EVENT_STREAM);
        return;
      }
      if (type === null) return;
      setResultProcessor((given, { Response }) => {
        const answer = answerOf(given);
        const status = statusOf(answer, type);
        return new Response(JSON.stringify(answer.result), {
          status,
          headers: headersFor(status, type),
        });
      }, JSON_TYPE);
    },
  };
  const yoga = createYoga<ServerContext>({
    schema: endpoint.operations.schema,
    graphqlEndpoint: path,
    maskedErrors: false,
    multipart: false,
    cors: false,
    landingPage: false,
    parserAndValidationCache: false,
    maxRequestBodySize: maxBodyBytes,
    logging: false,
    graphiql: GRAPHIQL_OPTIONS,
    renderGraphiQL: graphiqlRenderer(),
    plugins: [plugin],
  });
  return async (req, res, requestContext) => {
    await yoga.handle(req, res, { requestContext });
  };
}

/** What Yoga found wrong with a request before our code saw it. */
function refusedByYoga(result: unknown, { requestId }: RequestContext, { log }: Endpoint): Answer {
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
