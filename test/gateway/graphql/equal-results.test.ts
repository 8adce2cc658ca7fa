import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileOperation } from '../../../src/gateway/graphql/internal-operation.ts';
import { type PublicResult, publicResult } from '../../../src/gateway/graphql/public-error.ts';
import { Random } from '../../fuzz/random.ts';
import { furnish, startFuzzService } from '../../fuzz/requests/fuzz-world.ts';
import { graphqlRequest } from '../../fuzz/requests/graphql-requests.ts';
import { isLong, runs } from '../../support/suite.ts';
import { comparable, context, schema } from './both-executors.ts';
import { document } from './generated-documents.ts';
import { startGraphqlServer } from './server.ts';
import { type Operation, OTHER_ORIGIN, shown, TRANSPORTS, type Transport } from './transports.ts';

const ALL = Object.keys(TRANSPORTS) as Transport[];
const RUNS = isLong ? 100 : runs(15);
const BY_POST = ALL.filter((transport) => !transport.includes('GET'));
const STREAMS: readonly Transport[] = ['WebSocket', 'SSE by POST', 'SSE by GET'];

/** `comparable` finds the nulls of errors in the data. */
const compared = (result: PublicResult): object => (result.data === undefined ? result : comparable(result));

/** Sends an operation over all transports at a time and returns the result of the first. */
async function same(
  url: string,
  operation: Operation,
  token: string | null,
  transports: readonly Transport[],
): Promise<PublicResult> {
  const results = await Promise.all(transports.map((transport) => TRANSPORTS[transport](url, operation, token)));
  const [first = {}, ...others] = results;
  const text = `${transports.join(', ')}: ${JSON.stringify(operation)}`;
  for (const other of others) expect(compared(other), text).toEqual(compared(first));
  return first;
}

const variables = fc.record(
  { p: fc.boolean(), q: fc.boolean(), n: fc.constantFrom(null, 1, 2, 'x') },
  { requiredKeys: ['p'] },
);
const faulty = fc.constantFrom(
  'query',
  '{',
  '{ hello(name: 4) }',
  '{ hello { id } }',
  '{ brokers(first: 60000) { id } }',
  'query A { hello } query B { whoami }',
  '{ __schema { queryType { name } } }',
  'query ($n: Int!) { brokers(first: $n) { id } }',
  '{ whoami wide { strictInt json } laterBrokers(bad: 2) { id } untyped { id } generated }',
);
const mutations = fc.constantFrom(
  'mutation { a: add b: add(n: 5) c: add(fault: BUG) d: add(fault: SERVICE) }',
  'mutation ($n: Int) { add(n: $n) }',
  'mutation { nothing }',
);

test('all transports and operations of the service itself have the same results', async () => {
  const { url } = await startGraphqlServer({ corsOrigins: [OTHER_ORIGIN], preparationMsPerSecond: Infinity });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ weight: 6, arbitrary: document }, { weight: 2, arbitrary: faulty }, mutations),
      variables,
      fc.constantFrom(null, 'ann'),
      async (query, sent, token) => {
        const operation = { query, variables: sent };
        const result = await same(url, operation, token, query.startsWith('mutation') ? BY_POST : ALL);
        fc.pre(result.data !== undefined && !query.includes('whoami'));
        const executed = await compileOperation(schema, query).execute(context(), { ...sent });
        const own = JSON.parse(JSON.stringify(publicResult(executed, { requestId: 'r', log: { error: () => {} } })));
        expect(compared(shown(own)), query).toEqual(compared(result));
      },
    ),
    { numRuns: RUNS },
  );
});

test.each(['refused', 'until(n: 1, code: "NOT_ALLOWED")', 'until(n: 0, code: "BROKER_TIMEOUT")', 'ticks', 'none'])(
  'a subscription to %s has the same first result over all transports',
  async (field) => {
    const { url } = await startGraphqlServer();
    await same(url, { query: `subscription { ${field} { n } }` }, null, STREAMS);
  },
);

test('random operations of callers of all roles have the same results over all transports', async () => {
  const service = await startFuzzService({
    env: { QUERY_PREPARATION_MS: '100000', CORS_ORIGINS: OTHER_ORIGIN, BROKER_TIMEOUT_MS: '300' },
  });
  const url = `${service.url}/graphql`;
  const { callers, known } = await furnish(service);
  // Unknown credentials close a WebSocket before its first operation.
  const roles = [...callers].filter(([name]) => name !== 'unknownToken');
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(), fc.constantFrom(...roles), async (seed, nth, [, token]) => {
      const { kind, query, variables: sent } = graphqlRequest(new Random(seed), known, nth);
      // A mutation would change the state between two transports.
      fc.pre(kind !== 'mutation');
      const operation = { query, variables: { ...sent } };
      // Node refuses a longer request line.
      fc.pre(encodeURIComponent(JSON.stringify(operation)).length <= 12_000);
      const isLive = kind === 'subscription';
      const before = isLive ? {} : await TRANSPORTS.POST(url, operation, token);
      const results = await Promise.all(
        (isLive ? STREAMS : ALL).map((transport) => TRANSPORTS[transport](url, operation, token)),
      );
      const after = isLive ? {} : await TRANSPORTS.POST(url, operation, token);
      // The state has changed meanwhile.
      fc.pre(JSON.stringify(compared(before)) === JSON.stringify(compared(after)));
      const [first = {}, ...others] = results.map((result) => (isLive ? withoutSnapshot(result) : compared(result)));
      for (const other of others) expect(other, query).toEqual(first);
    }),
    { numRuns: RUNS },
  );
});

/** Events of a live source contain times and measurements. */
const withoutSnapshot = ({ data, errors }: PublicResult): object => ({ hasData: data !== undefined, errors });
