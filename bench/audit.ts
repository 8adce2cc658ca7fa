/**
 * The cost of the audit log: mutations per second of one project with the audit log, which writes each entry before the
 * response, and without it. Rounds of both alternate in one process, with 16 concurrent callers and with one caller.
 * Requires `npm run build`. DATABASE_URL selects PostgreSQL instead of SQLite.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import type { AuditedCall } from '../src/domains/audit/audit-service.ts';
import { readConfig } from '../src/platform/config/config.ts';
import { median } from './support/figures.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);
const ROUND_MS = 400;
/** By number of callers. The mutation itself is cheap: it writes one row. */
const LEAST_RATIO = { 16: 0.5, 1: 0.35 } as const;

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-audit-'));
const worker = (file: string) => pathToFileURL(join(process.cwd(), 'dist', file));
// The compiled module, because it reads other files of its folder.
const { startService }: typeof import('../src/app/service.ts') = await import(worker('app/service.js').href);
const { DATABASE_URL } = process.env;
const config = readConfig({
  DATA_DIR: folder,
  PORT: '0',
  EMBEDDED_BROKER: 'off',
  ROOT_PASSWORD: 'correct horse battery',
  LOG_LEVEL: 'error',
  ...(DATABASE_URL !== undefined && { DATABASE_URL }),
});
const service = await startService(config, {
  log: pino({ level: 'error' }),
  embeddedWorker: worker('data-plane/broker/worker.js'),
  streamWorker: worker('data-plane/streams/hosting/stream-worker.js'),
  bridgeWorker: worker('data-plane/bridges/hosting/bridge-worker.js'),
  topicWorker: worker('data-plane/topic-tree/hosting/topic-worker.js'),
  historyWorker: worker('data-plane/history/hosting/history-worker.js'),
});
try {
  const { audit, auth } = service.services;
  const root = await service.storage.db.user.findFirstOrThrow({ where: { isRoot: true } });
  const { token } = await auth.sessions.open(root.id);
  const ask = async (query: string, variables: object) => {
    const response = await fetch(`${service.report.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data: { p: { project: { id: string } } }; errors?: unknown };
    if (errors) throw new Error(JSON.stringify(errors));
    return data.p.project.id;
  };
  const id = await ask('mutation { p: createProject(input: { name: "Bench" }) { project { id } } }', {});
  const UPDATE =
    'mutation ($id: ID!, $text: String!) { p: updateProject(input: { projectId: $id, description: $text }) { project { id } } }';
  const recorded = audit.mutation.bind(audit);
  const unrecorded = async <T>(_call: AuditedCall, run: () => T | Promise<T>): Promise<T> => run();

  const round = async (callers: number): Promise<number> => {
    const end = performance.now() + ROUND_MS;
    let done = 0;
    const call = async () => {
      while (performance.now() < end) {
        await ask(UPDATE, { id, text: `number ${done++}` });
      }
    };
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: callers }, call));
    return (done * 1_000) / (performance.now() - startedAt);
  };

  let good = true;
  for (const callers of [16, 1] as const) {
    const [withAudit, without]: [number[], number[]] = [[], []];
    for (let n = -3; n < ROUNDS; n++) {
      audit.mutation = recorded;
      const one = await round(callers);
      audit.mutation = unrecorded;
      const other = await round(callers);
      if (n >= 0) {
        withAudit.push(one);
        without.push(other);
      }
    }
    const ratio = median(withAudit.map((rate, n) => rate / (without[n] ?? Number.NaN)));
    const least = LEAST_RATIO[callers];
    good &&= ratio >= least;
    console.log(
      `${service.storage.engine}, ${callers} at once: ${median(withAudit).toFixed(0)} mutations/s recorded, ${median(without).toFixed(0)} not; ratio ${ratio.toFixed(2)} (at least ${least}: ${ratio >= least ? 'yes' : 'NO'})`,
    );
  }
  audit.mutation = recorded;
  const startedAt = performance.now();
  const { checked, isIntact } = await audit.verify();
  console.log(
    `${checked} entries verified in ${((performance.now() - startedAt) / 1_000).toFixed(2)} s: ${isIntact ? 'intact' : 'BROKEN'}`,
  );
  if (!good || !isIntact) process.exitCode = 1;
} finally {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
}
