/** GraphQL over HTTP, a list of 50 brokers and a nested query: the product, Apollo Server and Mercurius with JIT. */
import { measure, report } from './support/measure.ts';

const REQUESTS = {
  'list of 50': {
    query: `query Brokers($projectId: ID!, $first: Int) {
      project(id: $projectId) {
        brokers(first: $first) {
          totalCount
          edges {
            cursor
            node { __typename id name description createdAt isConnected ... on SelfHostedBroker { url metricsEnabled } }
          }
          pageInfo { hasNextPage endCursor }
        }
      }
    }`,
    variables: { projectId: 'prj_bench', first: 50 },
  },
  nested: {
    query: `{
      projects(first: 5) {
        edges {
          node {
            id name owner { userId name }
            brokers(first: 10) {
              totalCount
              edges { node { id name url isConnected connection { state since } project { id name } } }
            }
          }
        }
      }
    }`,
  },
};
const TARGETS = { apollo: 5, mercurius: 1.1 };
const PATHS = { brokergraph: '/graphql', apollo: '/', mercurius: '/graphql' };

let reached = true;
for (const [title, request] of Object.entries(REQUESTS)) {
  const contenders = Object.entries(PATHS).map(([name, path]) => ({
    name,
    module: new URL('./graphql-servers.js', import.meta.url),
    load: {
      method: 'POST' as const,
      path,
      headers: { 'content-type': 'application/json', accept: 'application/json', authorization: 'Bearer bench' },
      body: JSON.stringify(request),
    },
  }));
  reached = report(title, await measure(contenders), 'brokergraph', TARGETS) && reached;
}
process.exitCode = reached ? 0 : 1;
