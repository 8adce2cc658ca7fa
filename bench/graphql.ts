/** GraphQL over HTTP, a list of 50 brokers and a nested query: the product against Apollo Server and Mercurius with JIT. */
import { DEFAULTS, measure, report } from './support/measure.ts';

const QUERIES = {
  'list of 50':
    '{ brokers(first: 50) { edges { cursor node { __typename id name description createdAt ... on SelfHostedBroker { url metricsEnabled } } } } }',
  nested:
    '{ brokers(first: 50) { edges { node { id name project { id name } clients(first: 5) { clientId username connected } } } } }',
};
const TARGETS = { apollo: 5, mercurius: 1.1 };
const PATHS = { brokergraph: '/graphql', apollo: '/', mercurius: '/graphql' };

let reached = true;
for (const [title, query] of Object.entries(QUERIES)) {
  const contenders = Object.entries(PATHS).map(([name, path]) => ({
    name,
    module: new URL('./graphql-servers.js', import.meta.url),
    load: {
      method: 'POST' as const,
      path,
      headers: { 'content-type': 'application/json', accept: 'application/json', authorization: 'Bearer bench' },
      body: JSON.stringify({ query }),
    },
  }));
  const rounds = Number(process.env.BENCH_ROUNDS ?? DEFAULTS.rounds);
  reached = report(title, await measure(contenders, { ...DEFAULTS, rounds }), 'brokergraph', TARGETS) && reached;
}
process.exitCode = reached ? 0 : 1;
