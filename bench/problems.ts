/**
 * `node bench/run.mjs problems`: what it costs to find the problems of BENCH_BROKERS healthy brokers (1,000): processor
 * time of the checks, which run every two seconds, and memory. One broker of a hundred has a problem that comes and
 * goes, with its row in an SQLite database. There is no peer: the figures have bars.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { BrokerCache } from '../src/domains/brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../src/domains/brokers/broker-runtimes.ts';
import { ProblemWatch } from '../src/domains/problems/problem-watch.ts';
import { capabilitySource } from '../src/domains/problems/sources/capability-source.ts';
import { floodSource, listSource } from '../src/domains/problems/sources/client-source.ts';
import { linkSource } from '../src/domains/problems/sources/link-source.ts';
import { sysSource } from '../src/domains/problems/sources/sys-source.ts';
import { ProblemCache } from '../src/domains/problems/storage/problem-cache.ts';
import { ProblemStore } from '../src/domains/problems/storage/problem-store.ts';
import { ProjectCache } from '../src/domains/projects/project-cache.ts';
import { openStorage } from '../src/platform/storage/storage.ts';
import { atMost } from './support/bars.ts';

const BROKERS = Number(process.env.BENCH_BROKERS ?? 1_000);
const CHECKS = 300;
/** As in the product. */
const CHECK_MS = 2_000;
const MIB = 1_048_576;

cpSync('prisma/migrations', fileURLToPath(new URL('../prisma/migrations', import.meta.url)), { recursive: true });
const dataDir = mkdtempSync(join(tmpdir(), 'bench-problems-'));
const log = pino({ level: 'warn' });
const storage = await openStorage({ dataDir, databaseUrl: undefined, log });
const { db, changes, leases } = storage;
const projectId = 'prj_00000000000000000000000000';
await db.project.create({ data: { id: projectId, name: 'bench' } });
await db.broker.createMany({
  data: Array.from({ length: BROKERS }, (_, nth) => ({
    id: `brk_${String(nth).padStart(26, '0')}`,
    projectId,
    name: `broker ${nth}`,
    type: 'SELF_HOSTED' as const,
  })),
});
const parts = { db, changes, log };
const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
await Promise.all([brokers.load(), projects.load(), cache.load()]);

let round = 0;
const isAway = (id: string) => Number(id.slice(4)) % 100 === 0 && round % 40 < 20;
const runtimeOf = (id: string) => ({
  id,
  link: { status: { state: isAway(id) ? 'UNREACHABLE' : 'CONNECTED' } },
  controls: { known: () => null },
  sys: { problem: null },
});
/** As brokers that are connected, with numbers that grow. */
const runtimes = {
  onRuntime: () => () => undefined,
  find: (id: string) => runtimeOf(id),
  status: (id: string) => runtimeOf(id).link.status,
  isConnected: (id: string) => !isAway(id),
  sysTopics: () => ({ receivedValueOf: () => String(round) }),
} as unknown as BrokerRuntimes;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
collectGarbage();
const before = process.memoryUsage().heapUsed;
const watch = new ProblemWatch({
  ...{ brokers, projects, cache, log },
  sources: {
    brokers: [
      linkSource({ runtimes, onChange: () => undefined }),
      capabilitySource({ runtimes }),
      sysSource({ runtimes }),
      floodSource({ runtimes, brokers }),
      listSource({ runtimes, brokers }),
    ],
    projects: [],
    process: [],
    service: [],
  },
  store: new ProblemStore({ db, changes, cache }),
  isMine: () => true,
  lease: leases.want('bench', () => undefined),
  self: { host: 'bench', folderId: 'bench' },
  alive: () => null,
  tidy: async () => undefined,
});
const started = process.cpuUsage();
for (; round < CHECKS; round += 1) {
  watch.check();
  // The writes of the check.
  await new Promise(setImmediate);
}
const { user, system } = process.cpuUsage(started);
await watch.close();
collectGarbage();
const share = (100 * (user + system)) / 1_000 / (CHECKS * CHECK_MS);
atMost(`problems of ${BROKERS} brokers`, share, 1, '% of a core');
atMost(`problems of ${BROKERS} brokers`, (process.memoryUsage().heapUsed - before) / MIB, 20, 'MB');
await Promise.all([brokers.close(), projects.close(), cache.close()]);
await storage.close();
rmSync(dataDir, { recursive: true, force: true });
