import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesWithMosquitto } from './broker-files.ts';

/**
 * The tests of a run (TEST_SUITE). `short` is `npm test`: all domains on SQLite, one broker kind, a tenth of the runs
 * of each property, no costly files. `smoke`: what differs between versions of Node. `brokers`: the files that run a
 * Mosquitto, without the other broker kinds and without PostgreSQL. `all`, the default: all tests.
 */
const SUITES = ['short', 'smoke', 'brokers', 'all'] as const;

const { TEST_SUITE } = process.env;
export const suite = SUITES.find((one) => one === TEST_SUITE) ?? 'all';

/** Whether the run has the tests that take minutes each: the files `*.long.ts`, and more cases of WITH_LONG_CASES. */
export const isLong = process.env.TEST_LONG === 'on';
const WITH_LONG_CASES = [
  'app/hosts/',
  'console/clients.test',
  'console/explain',
  'deploy/balancer',
  'domains/access-control/many-writes',
  'domains/access-control/policy/differential.test',
  'domains/access-control/writing/long-lists',
  'data-plane/bridges/queue/postgresql-queue',
  'domains/certificates/own-brokers',
  'domains/clients/inspect/',
  'domains/clusters/dynsec-storm',
  'domains/jobs/replays',
  'domains/streams/truth/sustained',
  'data-plane/broker/control',
  'data-plane/broker/cut-connections',
  'data-plane/broker/durability',
  'data-plane/broker/dynsec-durability',
  'data-plane/broker/dynsec-hostile',
  'data-plane/broker/dynsec-mosquitto',
  'data-plane/broker/full-disk',
  'data-plane/broker/shared-members',
  'data-plane/broker/shared-sleeping',
  'data-plane/broker/slow-subscribers',
  'gateway/graphql/equal-results',
  'gateway/graphql/response-limit',
  'gateway/graphql/variables',
  'gateway/http/fetch',
  'platform/auth/ended-rights',
  'platform/auth/rights-matrix',
];

/** The broker kinds that the same tests run on: by default the embedded broker only, which is the first one. */
export const brokerKinds = <const Kind extends string>(kinds: readonly Kind[]): readonly Kind[] =>
  suite === 'all' ? kinds : suite === 'brokers' ? kinds.slice(1) : kinds.slice(0, 1);

/** Number of runs of a property. A short run uses a tenth, at least 10. */
export const runs = (whole: number): number =>
  suite === 'all' || suite === 'brokers' ? whole : Math.min(whole, Math.max(10, Math.ceil(whole / 10)));

/** Processor seconds of costly test files, of their threads and of their child processes: scripts/test-results.mjs. */
const BUDGETS: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('../../scripts/test-budgets.json', import.meta.url), 'utf8'),
);
/** Costly files that a short run does not omit: the MQTT fuzzer, for two seconds instead of ten. */
const ALWAYS_SHORT = ['test/fuzz/mqtt/mqtt.test.ts'];

export const budgetOf = (path: string): number => BUDGETS[path] ?? 0;

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => join('test', path))
  .sort();
const below = (parts: readonly string[]) =>
  files.filter((path) => parts.some((part) => path.startsWith(`test/${part}`)));

export const shortFiles = (): string[] => files.filter((path) => budgetOf(path) === 0 || ALWAYS_SHORT.includes(path));

export const brokerFiles = (): string[] => filesWithMosquitto(files);

export const longFiles = (): string[] => ['test/**/*.long.ts', ...below(WITH_LONG_CASES)];

export const smokeFiles = (): string[] =>
  below([
    'contract/operations',
    'contract/revisions',
    'contract/shapes',
    'platform/storage/changes',
    'platform/storage/crash',
    'platform/storage/data-folder',
    'platform/storage/migrations',
    'platform/storage/postgresql-check',
    'platform/storage/sealed',
    'platform/storage/storage',
    'package/package',
    'readme',
    'data-plane/broker/embedded-broker',
    'data-plane/broker/tls',
    'data-plane/broker/packet-',
    'protocol/mqtt/packet-',
  ]);

/** Files that add network interfaces to this machine. */
export const networkFiles = (): string[] => below(['app/hosts/', 'deploy/balancer']);

/** Files that a whole run runs on PostgreSQL, and `npm test` on SQLite. */
export const postgresqlFiles = (): string[] =>
  below([
    'contract/',
    'domains/brokers/broker-metrics.test',
    'domains/brokers/brokers',
    'domains/brokers/license',
    'domains/brokers/runtimes',
    'domains/jobs/',
    'domains/notifications/killed-service.test',
    'domains/processes/',
    'domains/projects/',
    'domains/streams/hosting/lease.test',
    'domains/streams/replay-subscription',
    'domains/streams/rest',
    'domains/streams/truth/ttl',
    'domains/tokens/',
    'domains/users/',
    'platform/auth/guessing',
    'platform/auth/local-login',
    'platform/auth/many-subscriptions',
    'platform/auth/own-sessions',
    'platform/auth/rights.test',
    'platform/auth/second-factor',
    'platform/auth/sessions',
    'platform/auth/shared-rights',
  ]);
