import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Parts of the paths of slow files: processes, kills, many clients, real servers, comparisons with Mosquitto. */
const SLOW = [
  '/truth/',
  '/app/cli/commands',
  '/app/cli/doctor',
  '/app/hosts/',
  '/app/shared-limits',
  '/app/transfer/',
  '/app/backup/',
  '/access-control/many-writes',
  '/access-control/policy/differential',
  '/access-control/writing/control-rights',
  '/access-control/writing/killed-broker',
  '/audit/chain',
  '/audit/killed',
  '/audit/pending-changes',
  '/audit/reading',
  '/auth/ended-rights',
  '/auth/known-networks',
  '/auth/rights-matrix',
  '/auth/second-factor',
  '/auth/shared-guessing',
  '/bridges/hosting/',
  '/bridges/mqtt/restarts',
  '/bridges/postgresql/',
  '/bridges/queue/postgresql-queue',
  '/brokers/broker-metrics',
  '/brokers/stored-secrets',
  '/certificates/commercial',
  '/certificates/own-brokers',
  '/clients/control/client-control-plugin',
  '/clients/inspect/first-to-hear',
  '/clients/inspect/inspect-plugin',
  '/clients/inspect/many-clients',
  '/cloud-brokers/',
  '/clusters/dynsec-drift',
  '/clusters/dynsec-processes',
  '/clusters/dynsec-storm',
  '/clusters/failing-database',
  '/console/',
  '/deploy/',
  '/embedded/durability',
  '/embedded/dynsec-durability',
  '/embedded/dynsec-hostile',
  '/embedded/dynsec-kicks',
  '/embedded/dynsec-mosquitto',
  '/embedded/hostile-packets',
  '/embedded/login-throttle',
  '/embedded/mqtt5-sessions',
  '/embedded/repeated-failure',
  '/embedded/slow-subscribers',
  '/embedded/streams-durability',
  '/embedded/tls',
  '/fuzz/',
  '/graphql/executors',
  '/graphql/live/slow-reader',
  '/graphql/response-limit',
  '/http/web-socket-flow',
  '/jobs/deletions',
  '/jobs/replays',
  '/mosquitto/certificates',
  '/mosquitto/left-over',
  '/package/',
  '/protocol/mqtt/hostile-brokers',
  '/proxy/nginx',
  '/readme',
  '/secrets/',
  '/sign-in/ldap',
  '/sign-in/oidc',
  '/storage/crash',
  '/storage/leases',
  '/streams/hosting/',
  '/streams/replay-subscription',
  '/topic-tree/graph/commercial',
];

/** Slow files that a short run also runs: ten seconds of the MQTT fuzzer. */
const ALWAYS = ['/fuzz/mqtt/mqtt.test'];

export const isSlow = (path: string): boolean => SLOW.some((part) => path.includes(part));

const isInShort = (path: string): boolean => !isSlow(path) || ALWAYS.some((part) => path.includes(part));

/** Files that a short run runs in part: with one broker kind, one database, or few runs of each property. */
const isInPart = (path: string): boolean =>
  /brokerKinds|KINDS|describeEngines|from 'fast-check'|FUZZ_SECONDS|testSurvival/.test(readFileSync(path, 'utf8'));

const files = (): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join('test', path));

export const shortFiles = (): string[] => files().filter(isInShort);
export const restFiles = (): string[] => files().filter((path) => !isInShort(path) || isInPart(path));
