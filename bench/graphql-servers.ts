/**
 * The servers of the GraphQL benchmark, one per process: the product's endpoint, Apollo Server and Mercurius with JIT, over the
 * same schema, records and context function. All in memory, so that only the layers are compared.
 */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import type { GraphQLSchema } from 'graphql';
import type { RequestContext } from '../src/context.ts';
import { createGraphqlServer } from '../src/graphql/server.ts';
import { serveBench } from './support/serve.ts';

const KINDS = ['CloudBroker', 'SelfHostedBroker', 'OnPremiseSetup'] as const;

interface Broker {
  readonly kind: (typeof KINDS)[number];
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly url: string;
  readonly createdAt: string;
  readonly metricsEnabled: boolean;
  readonly project: { readonly id: string; readonly name: string };
  readonly clients: readonly {
    readonly clientId: string;
    readonly username: string | null;
    readonly connected: boolean;
  }[];
}

const project = { id: 'prj_bench', name: 'Plant' };
const brokers: readonly Broker[] = Array.from({ length: 50 }, (_, i) => ({
  kind: KINDS[i % 3] ?? 'CloudBroker',
  id: `brk_${String(i).padStart(20, '0')}`,
  name: `broker ${i}`,
  description: `The broker of hall ${i}`,
  url: `mqtts://broker-${i}.example.com:8883`,
  createdAt: '2026-01-31T12:00:00.000Z',
  metricsEnabled: i % 2 === 0,
  project,
  clients: Array.from({ length: 5 }, (_, n) => ({
    clientId: `c-${i}-${n}`,
    username: n % 2 ? 'gateway' : null,
    connected: true,
  })),
}));

function createSchema(): GraphQLSchema {
  const builder = new SchemaBuilder<{ Context: RequestContext; DefaultFieldNullability: false }>({
    plugins: [ComplexityPlugin],
    defaultFieldNullability: false,
    complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
    prisma: undefined as never,
    scopeAuth: undefined as never,
  });
  const Project = builder.objectRef<Broker['project']>('Project').implement({
    fields: (t) => ({ id: t.exposeID('id'), name: t.exposeString('name') }),
  });
  const Client = builder.objectRef<Broker['clients'][number]>('ConnectedClient').implement({
    fields: (t) => ({
      clientId: t.exposeString('clientId'),
      username: t.exposeString('username', { nullable: true }),
      connected: t.exposeBoolean('connected'),
    }),
  });
  const BrokerType = builder.interfaceRef<Broker>('Broker').implement({
    resolveType: ({ kind }) => kind,
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      description: t.exposeString('description'),
      createdAt: t.exposeString('createdAt'),
      project: t.expose('project', { type: Project }),
      clients: t.field({
        type: [Client],
        args: { first: t.arg.int({ defaultValue: 5 }) },
        resolve: ({ clients }, { first }) => clients.slice(0, first ?? 5),
      }),
    }),
  });
  for (const kind of KINDS) {
    builder.objectRef<Broker>(kind).implement({
      interfaces: [BrokerType],
      fields: (t) => ({ url: t.exposeString('url'), metricsEnabled: t.exposeBoolean('metricsEnabled') }),
    });
  }
  const Edge = builder.objectRef<{ node: Broker; cursor: string }>('BrokerEdge').implement({
    fields: (t) => ({ node: t.expose('node', { type: BrokerType }), cursor: t.exposeString('cursor') }),
  });
  const Connection = builder.objectRef<{ edges: { node: Broker; cursor: string }[] }>('BrokerConnection').implement({
    fields: (t) => ({ edges: t.expose('edges', { type: [Edge] }) }),
  });
  builder.queryType({
    fields: (t) => ({
      brokers: t.field({
        type: Connection,
        args: { first: t.arg.int({ defaultValue: 50 }) },
        resolve: async (_, { first }) => ({
          edges: brokers.slice(0, first ?? 50).map((node) => ({ node, cursor: node.id })),
        }),
      }),
    }),
  });
  return builder.toSchema();
}

const schema = createSchema();
const context = { viewer: { name: 'bench' }, requestId: 'bench', address: '' } as unknown as RequestContext;
const contextFor = () => context;
const require = createRequire(import.meta.url);

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  async brokergraph() {
    const graphql = createGraphqlServer({ schema, contextFor, log: console });
    const server = createServer((req, res) => graphql.handle(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  },
  async apollo() {
    const { ApolloServer } = require('@apollo/server');
    const { startStandaloneServer } = require('@apollo/server/standalone');
    const server = new ApolloServer({ schema, csrfPrevention: true });
    const { url } = await startStandaloneServer(server, {
      listen: { port: 0, host: '127.0.0.1' },
      context: async () => contextFor(),
    });
    return Number(new URL(url).port);
  },
  async mercurius() {
    const app = require('fastify')();
    app.register(require('mercurius'), { schema, jit: 1, context: contextFor });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return (app.server.address() as AddressInfo).port;
  },
};

const start = SERVERS[process.argv[2] ?? ''];
if (!start) throw new Error(`Known servers: ${Object.keys(SERVERS).join(', ')}`);
serveBench(await start());
