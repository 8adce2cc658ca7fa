/**
 * Imports have one direction between wings, between domains, and between folders of the console. Tests of the data
 * plane and of what is below it reach nothing above it, so that they start no service. Biome reports import cycles of
 * files (noImportCycles).
 *
 * What benchmarks import from other files must exist. The compiler does not check them, because their peers are not
 * installed.
 */
import { dirname } from 'node:path';
import { sources } from './sources.mjs';

/** The wings that each wing may import, itself included. `generated` holds the Prisma clients. */
const WINGS = {
  main: ['app'],
  app: ['app', 'engines', 'domains', 'gateway', 'data-plane', 'protocol', 'platform', 'generated'],
  engines: ['engines', 'domains', 'gateway', 'data-plane', 'protocol', 'platform', 'generated'],
  domains: ['domains', 'gateway', 'data-plane', 'protocol', 'platform', 'generated'],
  gateway: ['gateway', 'platform', 'generated'],
  'data-plane': ['data-plane', 'protocol', 'platform'],
  protocol: ['protocol', 'platform', 'generated'],
  platform: ['platform', 'generated'],
};

/** A domain may import the domains before it. */
const DOMAINS = ['users', 'projects', 'audit', 'tokens', 'sign-in', 'brokers', 'clients', 'access-control'].concat([
  'jobs',
  'messages',
  'refusals',
  'topic-tree',
  'streams',
  'bridges',
  'certificates',
  'clusters',
  'secrets',
  'processes',
  'history',
  'problems',
  'notifications',
]);

const partsOf = (path) =>
  path
    .replace(/\.\w+$/, '')
    .split('/')
    .slice(1);

export function importFaults() {
  const faults = [];
  const product = sources.filter(({ path }) => path.startsWith('src/'));
  for (const { path, imports } of product) {
    const [wing, domain] = partsOf(path);
    for (const { from } of imports) {
      const [otherWing, otherDomain] = partsOf(from);
      if (!from.startsWith('src/')) faults.push(`${path}: imports ${from}, which is not part of src`);
      else if (!WINGS[wing]?.includes(otherWing))
        faults.push(`${path}: ${wing} must not import ${otherWing} (${from})`);
      else if (wing === 'domains' && otherWing === wing && DOMAINS.indexOf(otherDomain) > DOMAINS.indexOf(domain))
        faults.push(`${path}: the domain ${domain} must not import the later domain ${otherDomain} (${from})`);
      else if (wing === 'domains' && !DOMAINS.includes(domain))
        faults.push(`${path}: ${domain} has no place in the order`);
    }
  }
  faults.push(...consoleFaults(), ...fenceFaults());
  const exported = new Map(sources.map(({ path, exports }) => [path, new Set(exports.map(({ name }) => name))]));
  for (const { path, imports } of sources.filter(({ path }) => path.startsWith('bench/')))
    for (const { from, names } of imports)
      for (const name of names)
        if (from.startsWith('src/generated/')) continue;
        else if (!exported.has(from)) faults.push(`${path}: there is no file ${from}`);
        else if (name !== '*' && !exported.get(from).has(name)) faults.push(`${path}: ${from} does not export ${name}`);
  return faults;
}

/** Folders of the console that import each other, directly or over others. */
function consoleFaults() {
  const imported = new Map();
  for (const { path, imports } of sources.filter(({ path }) => path.startsWith('console/')))
    for (const { from } of imports)
      if (from?.startsWith('console/') && dirname(from) !== dirname(path))
        imported.set(dirname(path), (imported.get(dirname(path)) ?? new Set()).add(dirname(from)));
  const reached = (folder, found = new Set()) => {
    for (const other of imported.get(folder) ?? []) if (!found.has(other)) reached(other, found.add(other));
    return found;
  };
  return [...imported.keys()]
    .filter((folder) => reached(folder).has(folder))
    .map((folder) => `${folder}: is imported by a folder that it imports`);
}

const FENCED = ['test/data-plane/', 'test/protocol/'];
/** Finds the binary of Mosquitto for tests. */
const OUTSIDE = 'src/engines/mosquitto/mosquitto-program.ts';

function fenceFaults() {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const firstAbove = (path, seen) => {
    for (const { from } of byPath.get(path)?.imports ?? []) {
      if (from === null || seen.has(from) || from === OUTSIDE) continue;
      seen.add(from);
      if (from.startsWith('src/') && !WINGS['data-plane'].includes(partsOf(from)[0])) return from;
      const above = from.startsWith('test/') ? firstAbove(from, seen) : undefined;
      if (above !== undefined) return above;
    }
  };
  return sources
    .filter(({ path }) => FENCED.some((folder) => path.startsWith(folder)))
    .flatMap(({ path }) => {
      const above = firstAbove(path, new Set());
      return above === undefined ? [] : [`${path}: tests of the data plane must not reach ${above}`];
    });
}
