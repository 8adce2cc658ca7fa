import pg from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { UNAVAILABLE, usePostgres } from '../support/postgres.ts';
import { ROOT, sharedDatabase, startTestService } from '../support/service.ts';
import { ofRequests } from '../support/statements.ts';

const postgres = usePostgres();

interface Statement {
  readonly sql: string;
  readonly begin: number;
  end: number;
}

/** Records the statements of requests on PostgreSQL with their times. What a process does by itself is left out. */
function recordTimes(): Statement[] {
  const isOfRequest = ofRequests();
  const statements: Statement[] = [];
  let clock = 0;
  const query = pg.Client.prototype.query as (this: unknown, ...args: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [first] = args;
    const sql = typeof first === 'string' ? first : (first as { readonly text: string }).text;
    clock += 1;
    const statement = { sql, begin: clock, end: Number.POSITIVE_INFINITY };
    if (isOfRequest()) statements.push(statement);
    const ended = () => {
      clock += 1;
      statement.end = clock;
    };
    const callback = args.at(-1);
    if (typeof callback === 'function') {
      args[args.length - 1] = (...results: unknown[]) => {
        ended();
        callback(...results);
      };
    }
    const result = query.apply(this, args);
    if (result instanceof Promise) result.then(ended, ended);
    return result as never;
  } as never);
  onTestFinished(() => spy.mockRestore());
  return statements;
}

/** The largest number of statements of which each waited for the one before. */
function inARow(statements: readonly Statement[]): Statement[] {
  const chain: Statement[] = [];
  for (const one of statements.toSorted((a, b) => a.end - b.end)) {
    if (one.begin > (chain.at(-1)?.end ?? 0)) chain.push(one);
  }
  return chain;
}

/** Processes read a changed broker again when they hear of it. The request does not wait for it. */
const REREAD = /^SELECT .*"(Broker|BrokerListener|Certificate|CertificateDeployment|Cluster|ClusterNode)"/;

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('a log-in and a change of a broker wait for at most 8 statements one after the other', async () => {
    const service = await startTestService({ env: { DATABASE_URL: await sharedDatabase(postgres) } });
    const { graphql, projectId } = service;
    const added = await graphql(
      `mutation { addBroker(input: { projectId: "${projectId}", name: "b", url: "mqtt://127.0.0.1:1" }) { broker { id } } }`,
    );
    const { id } = added.data.addBroker.broker;
    const login = `mutation { login(input: { email: "${ROOT.email}", password: "${ROOT.password}" }) { token user { id } } }`;
    const update = (name: string) =>
      `mutation { updateBroker(input: { brokerId: "${id}", name: "${name}" }) { broker { name } } }`;
    // A network that becomes known costs more, once a day.
    expect((await graphql(login, {}, null)).errors).toBeUndefined();
    const statements = recordTimes();
    for (const [document, token] of [
      [login, null],
      [update('c'), service.root],
      [update('d'), service.root],
    ] as const) {
      statements.length = 0;
      expect((await graphql(document, {}, token)).errors).toBeUndefined();
      const announced = statements.find(({ sql }) => sql.includes('pg_notify'))?.begin ?? Number.POSITIVE_INFINITY;
      const chain = inARow(statements.filter(({ sql, begin }) => begin < announced || !REREAD.test(sql)));
      expect(chain.length, chain.map(({ sql }) => sql).join('\n')).toBeLessThanOrEqual(8);
      // Neither is without its entry in the audit.
      expect(chain.filter(({ sql }) => sql.includes('INSERT INTO "AuditEntry"'))).toHaveLength(1);
    }
  });
});
