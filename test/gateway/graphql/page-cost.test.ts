import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const clients = (brokers: string, page: string, fields: string) =>
  `query ($id: ID!) { project(id: $id) { brokers${brokers} { nodes { id connectedClients${page} { nodes { ${fields} } } } } } }`;

const searches = (count: number) =>
  `query ($id: ID!) { project(id: $id) { brokers(first: 1) { nodes { topicTree { ${Array.from(
    { length: count },
    (_, at) => `s${at}: topics(search: "${at}", first: 10) { totalCount names }`,
  ).join(' ')} } } } } }`;

const DETAILS = 'clientId numSubscriptions bytesPublished inflight { messagesOut }';
const SUMMARY = 'clientId username address protocol isConnected lastConnectedAt';

test.each([
  ['clients of many brokers with details', clients('(first: 1000)', '(first: 1000)', DETAILS)],
  ['the same from the end', clients('(last: 1000)', '(first: 1000)', DETAILS)],
  ['many clients of many brokers', clients('(first: 100)', '(first: 1000)', SUMMARY)],
  ['details of all clients', clients('(first: 1)', '(first: 10000)', DETAILS)],
  [
    'the same by edges',
    `query ($id: ID!) { project(id: $id) { brokers(first: 10) { edges { node { connectedClients(first: 1000) { edges { node { ${DETAILS} } } } } } } } }`,
  ],
  ['many searches among topics', searches(10)],
])('a query with large pages is refused: %s', async (_name, query) => {
  const { graphql, projectId } = await startTestService();
  const { errors } = await graphql(query, { id: projectId });
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'TOO_COMPLEX', info: { limit: 50_000 } } });
});

test.each([
  ['20 clients of 50 brokers', clients('(first: 50)', '(first: 20)', SUMMARY)],
  ['2,000 clients of one', clients('(first: 1)', '(first: 2000)', SUMMARY)],
  ['details of 50 clients of 10 brokers', clients('(first: 10)', '(first: 50)', DETAILS)],
  ['pages of unsaid size', clients('', '', DETAILS)],
  ['a search among topics of each kind', searches(2)],
])('a query of a dashboard is accepted: %s', async (_name, query) => {
  const { graphql, projectId } = await startTestService();
  const { errors, data } = await graphql(query, { id: projectId });
  expect(errors).toBeUndefined();
  expect(data.project.brokers.nodes).toEqual([]);
});

test('a fleet of 100 projects with 100 brokers each is one query', async () => {
  const { graphql } = await startTestService();
  const broker = 'nodes { id name connection { state } }';
  const query = `{ projects(first: 100) { nodes { id name brokers(first: 100, orderBy: { field: NAME }) { ${broker} } } } }`;
  expect((await graphql(query)).errors).toBeUndefined();
});

test('the cost for a null variable is not cached as that of its default', async () => {
  const { graphql } = await startTestService();
  const query = 'query ($n: Int = 10000) { projects(first: $n) { nodes { id name description a: id b: id } } }';
  expect((await graphql(query, { n: null })).errors).toBeUndefined();
  expect((await graphql(query)).errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
});

test('an argument without a calculable cost refuses the whole document', async () => {
  const { graphql, projectId } = await startTestService();
  const query = clients('(first: 1000)', '(first: 1000)', DETAILS)
    .replace('($id: ID!)', '($id: ID!, $v: String = "x")')
    .replace('{ id ', '{ odd: refusals(filter: { value: $v }) { totalCount } ');
  const { data, errors } = await graphql(query, { id: projectId, v: null });
  expect(errors?.[0]?.extensions.code).toBe('INVALID');
  expect(data).toBeUndefined();
});
