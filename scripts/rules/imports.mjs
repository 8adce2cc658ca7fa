/**
 * Imports have one direction between wings and between domains. Biome reports import cycles (noImportCycles).
 *
 * What benchmarks import from other files must exist. The compiler does not check them, because their peers are not
 * installed.
 */
import { sources } from './sources.mjs';

/** The wings that each wing may import, itself included. `generated` holds the Prisma clients. */
const WINGS = {
  main: ['app'],
  app: ['app', 'engines', 'domains', 'gateway', 'protocol', 'platform', 'generated'],
  engines: ['engines', 'domains', 'gateway', 'protocol', 'platform', 'generated'],
  domains: ['domains', 'gateway', 'protocol', 'platform', 'generated'],
  gateway: ['gateway', 'platform', 'generated'],
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
  const exported = new Map(sources.map(({ path, exports }) => [path, new Set(exports.map(({ name }) => name))]));
  for (const { path, imports } of sources.filter(({ path }) => path.startsWith('bench/')))
    for (const { from, names } of imports)
      for (const name of names)
        if (from.startsWith('src/generated/')) continue;
        else if (!exported.has(from)) faults.push(`${path}: there is no file ${from}`);
        else if (name !== '*' && !exported.get(from).has(name)) faults.push(`${path}: ${from} does not export ${name}`);
  return faults;
}
