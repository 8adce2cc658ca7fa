/**
 * The servers of the REST benchmark: `graph` is the product's route over the product's graph, `plain` a handler
 * written by hand that sends the same bytes, `sofa` sofa-api over a graph of the same brokers. All answer from the same records
 * in memory, so that only the layers are compared.
 */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSchema, type GraphQLInterfaceType, type GraphQLObjectType } from 'graphql';
import { useSofa } from 'sofa-api';
import type { BrokerRecord } from '../src/brokers/broker-directory.ts';
import { brokerRoutes } from '../src/brokers/broker-routes.ts';
import type { RequestContext } from '../src/context.ts';
import { compileOperation } from '../src/graphql/operations.ts';
import { schema } from '../src/graphql/schema.ts';
import { authorizeRoute } from '../src/rest/authorize.ts';
import { createRestServer } from '../src/rest/router.ts';
import { serveBench } from './support/serve.ts';

const PROJECT = 'prj_bench';
const COUNT = 50;
const NOW = '2026-01-31T12:00:00.000Z';

const brokers: readonly BrokerRecord[] = Array.from({ length: COUNT }, (_, i) => ({
  id: `brk_${String(i).padStart(20, '0')}`,
  projectId: PROJECT,
  type: 'SELF_HOSTED',
  name: `broker ${i}`,
  description: `The broker of hall ${i}`,
  url: `mqtts://broker-${i}.example.com:8883`,
  ha: false,
  clusterMode: null,
  metricsEnabled: true,
  username: 'gateway',
  sealedPassword: null,
  caCert: null,
  caCertFile: null,
  clientCert: null,
  clientCertFile: null,
  sealedClientKey: null,
  clientKeyFile: null,
  verifyCaCert: true,
  createdAt: NOW,
  updatedAt: NOW,
  canceledAt: null,
  issuedTo: null,
  productId: null,
  paymentSubscriptionItemId: null,
  periodStart: null,
  periodEnd: null,
  options: null,
  subdomain: null,
  zoneName: null,
  deployedAt: null,
  shutdownAt: null,
  location: null,
  state: null,
  targetState: null,
  engine: null,
  mqttPort: null,
  mqttWsPort: null,
}));

/** As the route answers them. */
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

function graph(): RequestListener {
  const project = { id: PROJECT, name: 'bench', description: '', strictRoles: false };
  const services = {
    projects: { visible: () => project },
    brokers: { visibleIn: () => brokers },
    runtimes: { isConnected: () => true },
  };
  const viewer = {
    kind: 'USER',
    id: 'usr_bench',
    name: 'bench',
    credentialId: 'ses_bench',
    expiresAt: Number.POSITIVE_INFINITY,
    isRootAdmin: false,
    projectRoles: new Map([[PROJECT, 'VIEWER']]),
    brokers: null,
  } as const;
  const { handle } = createRestServer<RequestContext>({
    routes: brokerRoutes,
    schema,
    // Only what the list reaches: the benchmark is about the layers above the services.
    contextFor: ({ headers, address }) =>
      ({ viewer, requestId: headers['x-request-id'] ?? '', address, services }) as unknown as RequestContext,
    authorize: authorizeRoute,
    compileOperation,
    log: console,
  });
  return handle;
}

function plain(): RequestListener {
  const path = `/api/projects/${PROJECT}/brokers`;
  return (req, res) => {
    if (req.method !== 'GET' || req.url !== path) {
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

/** The kinds of brokers as the product's graph has them, with the documented keys: sofa-api knows no aliases. */
const COMMON = `type: BrokerType! id: ID! name: String! project_id: ID! ha: Boolean! created_at: String! updated_at: String!
  url: String verify_ca_cert: Boolean! description: String isConnected: Boolean!`;
const PRODUCT = `issued_to: String! product_id: String! period_start: String! period_end: String canceled_at: String
  payment_subscription_item_id: String`;
const SOFA_SCHEMA = `
  enum BrokerType { CLOUD SELF_HOSTED ON_PREMISE_SETUP }
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
  set('SelfHostedBroker', 'project_id', ({ projectId }) => projectId);
  set('SelfHostedBroker', 'created_at', ({ createdAt }) => createdAt);
  set('SelfHostedBroker', 'updated_at', ({ updatedAt }) => updatedAt);
  set('SelfHostedBroker', 'verify_ca_cert', ({ verifyCaCert }) => verifyCaCert);
  set('SelfHostedBroker', 'isConnected', () => true);
  return useSofa({ basePath: '/api', schema });
}

const SERVERS: Readonly<Record<string, () => RequestListener>> = { graph, plain, sofa };

const listener = SERVERS[process.argv[2] ?? '']?.();
if (!listener) throw new Error(`There is no server "${process.argv[2]}"`);
const server = createServer(listener);
server.listen(0, '127.0.0.1', () => serveBench((server.address() as AddressInfo).port));
