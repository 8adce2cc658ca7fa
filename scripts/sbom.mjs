/**
 * `npm run --silent sbom`: prints the bill of materials of the package as CycloneDX JSON: production dependencies with
 * versions, licences and hashes, from the lock file. The script filters the complete output of `npm sbom`, because
 * `--omit dev` of npm 11.19.1 also omits production dependencies that development dependencies require.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './stamps.mjs';

const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const { stdout, stderr, status } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 100_000_000 });
if (status !== 0) {
  console.error(stderr);
  process.exit(1);
}
const { components, dependencies, metadata, ...rest } = JSON.parse(stdout);
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** `name@version` of the production dependencies, including transitive ones. */
const production = new Set(
  Object.entries(packages).flatMap(([path, { version, name, dev, devOptional }]) =>
    path === '' || dev || devOptional ? [] : [`${name ?? path.replace(/^.*node_modules\//, '')}@${version}`],
  ),
);
const { name, version } = packages[''];
const self = `${name}@${version}`;
const isListed = (ref) => production.has(ref);

console.log(
  JSON.stringify(
    {
      ...rest,
      // npm uses the name of the folder.
      metadata: { ...metadata, component: { ...metadata.component, name } },
      components: components.filter((component) => isListed(component['bom-ref'])),
      dependencies: dependencies
        .filter(({ ref }) => ref === self || isListed(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isListed) })),
    },
    null,
    2,
  ),
);
