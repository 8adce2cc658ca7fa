/**
 * GraphQL Yoga, which serves all requests of /graphql but JSON POST and WebSocket. The Endpoint executes operations, so
 * that all transports return the same results.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendNodeResponse } from '@whatwg-node/server';
import { createYoga } from 'graphql-yoga';
import { requestIdOf } from '../../http/request-id.ts';
import type { TransportOptions } from '../http.ts';
import { authentication } from './authentication.ts';
import { corsOf, responseHeaders } from './cors.ts';
import { crossSite } from './cross-site.ts';
import { eventStreams } from './event-stream.ts';
import { graphiql } from './graphiql.ts';
import { jsonBody } from './json-body.ts';
import { jsonResults } from './json-results.ts';
import { mediaTypes } from './media-types.ts';
import { operationTurn } from './operation-turn.ts';
import { operations } from './operations.ts';
import type { YogaContext } from './yoga-plugin.ts';

export interface YogaServer {
  /** Responds to a request of the HTTP server, whose `x-request-id` is valid. */
  readonly handle: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  readonly fetch: (request: Request, address: string) => Promise<Response>;
}

export function createYogaServer(options: TransportOptions, origins: ReadonlySet<string>): YogaServer {
  const { endpoint, contextFor, traffic } = options;
  const yoga = createYoga<YogaContext>({
    schema: endpoint.operations.schema,
    graphqlEndpoint: '/graphql',
    cors: corsOf(origins),
    landingPage: false,
    // The plugins below replace these.
    graphiql: false,
    maskedErrors: false,
    multipart: false,
    parserAndValidationCache: false,
    maxRequestBodySize: false,
    logging: false,
    // In the order of the steps of a request.
    plugins: [
      graphiql(origins),
      crossSite(origins),
      mediaTypes,
      authentication(contextFor),
      jsonBody(options),
      operationTurn(traffic),
      operations(endpoint),
      jsonResults(options),
      eventStreams(options),
      responseHeaders,
    ],
  });
  return {
    async handle(req, res) {
      const response = await yoga.handleNodeRequestAndResponse(req, res, {
        requestId: requestIdOf(req.headers['x-request-id']),
        address: req.socket.remoteAddress ?? '',
        res,
        onClose: (callback) => res.once('close', callback),
      });
      await sendNodeResponse(response, res, req, true);
    },
    async fetch(request, address) {
      const requestId = requestIdOf(request.headers.get('x-request-id'));
      const closers: (() => void)[] = [];
      const onClose = (callback: () => void) => closers.push(callback);
      try {
        return await yoga.fetch(request, { requestId, address, res: null, onClose });
      } finally {
        for (const close of closers) close();
      }
    },
  };
}
