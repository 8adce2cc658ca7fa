/**
 * Yoga serves queries by GET. Operations, limits, masking and statuses are the endpoint's own, so that all roads
 * give one answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { Traffic } from '../http/traffic.ts';
import type { Answer, Endpoint } from './endpoint.ts';
import { acceptedType, headersFor, JSON_TYPE, statusOf } from './http.ts';
import { type PublicError, publicError } from './public-error.ts';

export interface YogaRoadOptions {
  readonly endpoint: Endpoint;
  readonly maxBodyBytes: number;
  readonly traffic: Traffic;
  /** Path of the endpoint. */
  readonly path: string;
}

/** What Yoga carries for us from the request to the operation. */
interface ServerContext {
  readonly res: ServerResponse;
  readonly requestContext: RequestContext;
}

export type YogaRoad = (req: IncomingMessage, res: ServerResponse, context: RequestContext) => Promise<void>;

export function createYogaRoad({ endpoint, maxBodyBytes, path, traffic }: YogaRoadOptions): YogaRoad {
  // Yoga passes results through as they are; these tell ours from its own.
  const answers = new WeakMap<object, Answer>();
  const plugin: Plugin<ServerContext> = {
    onParams({ params, request, setParamsHandler }) {
      setParamsHandler(async ({ context }) => {
        const { requestContext } = context as unknown as ServerContext;
        const answer = await endpoint.run(params, requestContext, { queriesOnly: request.method === 'GET' });
        answers.set(answer.result, answer);
        return answer.result as never;
      });
    },
    onResultProcess({ request, result, setResultProcessor, serverContext }) {
      const type = acceptedType(request.headers.get('accept') ?? undefined);
      if (type === null || Symbol.asyncIterator in result) return;
      const answerOf = (given: object) => {
        const { requestContext } = serverContext as unknown as ServerContext;
        return answers.get(given) ?? refusedByYoga(given, requestContext, endpoint);
      };
      setResultProcessor((given, { Response }) => {
        const answer = answerOf(given);
        const status = statusOf(answer, type);
        const text = JSON.stringify(answer.result);
        traffic.responding((serverContext as unknown as ServerContext).res, text.length);
        return new Response(text, { status, headers: headersFor(status, type) });
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
    graphiql: false,
    plugins: [plugin],
  });
  return async (req, res, requestContext) => {
    await yoga.handle(req, res, { requestContext, res });
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
