/**
 * The servers of the GraphQL benchmark, one per process: the product's HTTP server, Apollo Server and Mercurius with
 * JIT. All use the product's schema, the same records in memory and the same context function, so that only the
 * servers differ.
 */

import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { isObjectType } from 'graphql';
import { schema } from '../src/app/schema.ts';
import { Gateway } from '../src/gateway/http/gateway.ts';
import { startHttpServer } from '../src/gateway/http/http-server.ts';
import { contextFor, surroundings, unused } from './plant.ts';
import { serveBench } from './support/serve.ts';

// Loads the peers without types, because the types of Apollo Server require a further package.
const require = createRequire(import.meta.url);

const contextOf = (req: IncomingMessage) =>
  contextFor({
    headers: req.headers as Record<string, string | undefined>,
    address: req.socket.remoteAddress ?? '',
  });

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  async brokergraph() {
    // Imported only here, because the module patches graphql-jit, which Mercurius must use without patches.
    const { createGraphqlServer } = await import('../src/gateway/graphql/server.ts');
    const graphql = createGraphqlServer({ schema, contextFor, log: console });
    const { port, serve } = await startHttpServer({ host: '127.0.0.1', port: 0 });
    serve(new Gateway({ graphql, rest: unused.fetch, ...surroundings() }));
    return port;
  },
  async apollo() {
    const { ApolloServer } = require('@apollo/server');
    const { startStandaloneServer } = require('@apollo/server/standalone');
    const server = new ApolloServer({ schema });
    const { url } = await startStandaloneServer(server, {
      listen: { port: 0, host: '127.0.0.1' },
      context: async ({ req }: { req: IncomingMessage }) => contextOf(req),
    });
    return Number(new URL(url).port);
  },
  async mercurius() {
    // Its JIT calls `isTypeOf` without the context, so it serves the schema without the scopes of types.
    for (const type of Object.values(schema.getTypeMap())) if (isObjectType(type)) type.isTypeOf = null;
    const app = require('fastify')();
    app.register(require('mercurius'), {
      schema,
      jit: 1,
      context: ({ raw }: { raw: IncomingMessage }) => contextOf(raw),
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return (app.server.address() as AddressInfo).port;
  },
};

const start = SERVERS[process.argv[2] ?? ''];
if (!start) throw new Error(`Known servers: ${Object.keys(SERVERS).join(', ')}`);
serveBench(await start());
