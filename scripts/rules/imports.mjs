/** Imports point one way: between the wings of `src`, between domains, and never in a circle of files (type imports included). */
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
  'messages',
  'topic-tree',
  'streams',
  'bridges',
  'certificates',
  'clusters',
  'secrets',
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
  return [...faults, ...circles(product)];
}

/** Circles of files, by Tarjan's strongly connected components. */
function circles(files) {
  const targets = new Map(files.map(({ path, imports }) => [path, imports.map(({ from }) => from)]));
  const found = [];
  const stack = [];
  const index = new Map();
  const low = new Map();
  const visit = (path) => {
    index.set(path, index.size);
    low.set(path, index.get(path));
    stack.push(path);
    for (const next of targets.get(path) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(path, Math.min(low.get(path), low.get(next)));
    }
    if (low.get(path) !== index.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) found.push(`${circle.join(', ')}: import each other in a circle`);
  };
  for (const path of targets.keys()) if (!index.has(path)) visit(path);
  return found;
}
