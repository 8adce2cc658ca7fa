/**
 * `npm run image -- <tag>`: builds the container image for a release, which names the commit of this checkout.
 * NODE_IMAGE names the base image and must contain a digest, because tags change:
 * `node:24-bookworm-slim@sha256:<64 hex digits>`. POSTGRESQL_CLIENT is the version of pg_dump and pg_restore.
 */
import { spawnSync } from 'node:child_process';
import { commitOf } from './commit.mjs';
import { root } from './stamps.mjs';

const { NODE_IMAGE = '' } = process.env;
const [tag = 'brokergraph'] = process.argv.slice(2);

if (!/^\S+@sha256:[0-9a-f]{64}$/.test(NODE_IMAGE)) {
  console.error(
    `NODE_IMAGE must be an image with its digest, as node:24-bookworm-slim@sha256:…; it is "${NODE_IMAGE}"`,
  );
  console.error('`docker buildx imagetools inspect node:24-bookworm-slim` shows the digest of a tag.');
  process.exit(1);
}
const values = { ...process.env, BUILD_COMMIT: commitOf() };
const args = ['NODE_IMAGE', 'POSTGRESQL_CLIENT', 'BUILD_COMMIT', 'SOURCE_DATE_EPOCH']
  .filter((name) => values[name])
  .flatMap((name) => ['--build-arg', `${name}=${values[name]}`]);
const { status, error } = spawnSync('docker', ['build', ...args, '--tag', tag, '.'], { cwd: root, stdio: 'inherit' });
if (error) console.error(`docker could not be started: ${error.message}`);
process.exit(status ?? 1);
