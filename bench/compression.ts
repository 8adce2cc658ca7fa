/** A list of 50 in 10 KB by GraphQL over HTTP: compressed with Brotli and with gzip, against uncompressed. */
import { type Contender, measure, report } from './support/measure.ts';

const QUERY = `query Brokers($projectId: ID!) {
  project(id: $projectId) {
    brokers(first: 50) {
      totalCount
      edges {
        cursor
        node { __typename id name description createdAt isConnected ... on SelfHostedBroker { url metricsEnabled } }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;
const ENCODINGS = { uncompressed: null, identity: 'identity', 'br, gzip': 'br, gzip', gzip: 'gzip' } as const;

const contenders = Object.entries(ENCODINGS).map(
  ([name, encoding]): Contender => ({
    name,
    module: new URL('./compression-server.js', import.meta.url),
    load: {
      method: 'POST',
      path: '/graphql',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        authorization: 'Bearer bench',
        ...(encoding !== null && { 'accept-encoding': encoding }),
      },
      body: JSON.stringify({ query: QUERY, variables: { projectId: 'prj_bench' } }),
    },
  }),
);

const figures = await measure(contenders);
const reached = [
  report('List of 50, Brotli', figures, 'br, gzip', { uncompressed: 0.7 }),
  report('List of 50, identity', figures, 'identity', { uncompressed: 0.9 }),
];
if (reached.includes(false)) process.exitCode = 1;
