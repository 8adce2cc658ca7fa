/** The product's HTTP server with the graph on records in memory. */
import { schema } from '../src/app/schema.ts';
import { createGraphqlServer } from '../src/gateway/graphql/server.ts';
import { Gateway } from '../src/gateway/http/gateway.ts';
import { startHttpServer } from '../src/gateway/http/http-server.ts';
import { contextFor, surroundings, unused } from './plant.ts';
import { serveBench } from './support/serve.ts';

const graphql = createGraphqlServer({ schema, contextFor, log: console });
const { port, serve } = await startHttpServer({ host: '127.0.0.1', port: 0 });
serve(new Gateway({ graphql, rest: unused.fetch, ...surroundings() }));
serveBench(port);
