/**
 * The servers of the REST benchmark. `graph` is the route of the product. `fetch` and `plain` are minimal handlers that
 * send the same bytes: behind the adapter of the product, and on node:http. `sofa` is sofa-api with a schema of the
 * same brokers. All use the same records in memory, so that only the servers differ.
 */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServerAdapter, Response } from '@whatwg-node/server';
import { buildSchema, type GraphQLInterfaceType, type GraphQLObjectType } from 'graphql';
import { useSofa } from 'sofa-api';
import { schema } from '../src/app/schema.ts';
import type { BrokerRecord } from '../src/domains/brokers/broker-cache.ts';
import { brokerRoutes } from '../src/domains/brokers/broker-routes.ts';
import { Gateway } from '../src/gateway/http/gateway.ts';
import { startHttpServer } from '../src/gateway/http/http-server.ts';
import { authorizeRoute } from '../src/gateway/rest/authorize.ts';
import { createRestServer } from '../src/gateway/rest/router.ts';
import { brokers, contextFor, PROJECT, surroundings, unused } from './plant.ts';
import { serveBench } from './support/serve.ts';

/** The response of the route. */
const answer = () =>
  brokers.map((broker) => ({
    type: 'self-hosted',
    id: broker.id,
    name: broker.name,
    project_id: broker.projectId,
    ha: broker.ha,
    created_at: broker.createdAt,
    updated_at: broker.updatedAt,
    url: broker.url,
    verify_ca_cert: broker.verifyCaCert,
    description: broker.description,
    isConnected: true,
  }));

/** The HTTP server of the product. */
async function graph(): Promise<number> {
  const rest = createRestServer({
    routes: brokerRoutes,
    schema,
    contextFor,
    authorize: authorizeRoute,
    log: console,
  });
  const { port, serve } = await startHttpServer({ host: '127.0.0.1', port: 0 });
  serve(new Gateway({ rest, graphql: unused, ...surroundings() }));
  return port;
}

const PATH = `/api/projects/${PROJECT}/brokers`;

function fetchHandler(): RequestListener {
  return createServerAdapter((request: Request) => {
    if (request.method !== 'GET' || !request.url.endsWith(PATH)) return new Response(null, { status: 404 });
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return new Response(JSON.stringify(answer()), { headers });
  }).requestListener;
}

function plain(): RequestListener {
  return (req, res) => {
    if (req.method !== 'GET' || req.url !== PATH) {
      res.writeHead(404).end();
      return;
    }
    const text = JSON.stringify(answer());
    res.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    });
    res.end(text);
  };
}

/** The broker types of the product with the field names of the REST interface, because sofa-api supports no aliases. */
const COMMON = `type: String! id: ID! name: String! project_id: ID! ha: Boolean! created_at: String! updated_at: String!
  url: String verify_ca_cert: Boolean! description: String isConnected: Boolean!`;
const PRODUCT = `issued_to: String! product_id: String! period_start: String! period_end: String canceled_at: String
  payment_subscription_item_id: String`;
const SOFA_SCHEMA = `
  interface Broker { ${COMMON} }
  type SelfHostedBroker implements Broker { ${COMMON} }
  type OnPremiseSetup implements Broker { ${COMMON} ${PRODUCT} }
  type CloudBroker implements Broker { ${COMMON} ${PRODUCT} options: String! subdomain: String! zone_name: String!
    deployed_at: String shutdown_at: String location: String! state: String! target_state: String! }
  type Query { brokers(projectId: ID!): [Broker!]! }`;

function sofa(): RequestListener {
  const schema = buildSchema(SOFA_SCHEMA, { noLocation: true });
  const set = (type: string, field: string, resolve: (broker: BrokerRecord) => unknown) => {
    const found = (schema.getType(type) as GraphQLObjectType<BrokerRecord>).getFields()[field];
    if (found) found.resolve = resolve;
  };
  (schema.getType('Broker') as GraphQLInterfaceType).resolveType = () => 'SelfHostedBroker';
  set('Query', 'brokers', () => brokers);
  set('SelfHostedBroker', 'type', () => 'self-hosted');
  set('SelfHostedBroker', 'project_id', ({ projectId }) => projectId);
  set('SelfHostedBroker', 'created_at', ({ createdAt }) => createdAt);
  set('SelfHostedBroker', 'updated_at', ({ updatedAt }) => updatedAt);
  set('SelfHostedBroker', 'verify_ca_cert', ({ verifyCaCert }) => verifyCaCert);
  set('SelfHostedBroker', 'isConnected', () => true);
  return useSofa({ basePath: '/api', schema });
}

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 65_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  graph,
  fetch: () => listen(fetchHandler()),
  plain: () => listen(plain()),
  sofa: () => listen(sofa()),
};

const start = SERVERS[process.argv[2] ?? ''];
if (!start) throw new Error(`Known servers: ${Object.keys(SERVERS).join(', ')}`);
serveBench(await start());
