/**
 * `npm run image -- <tag>`: builds the container image for a release. NODE_IMAGE names the base image and must contain
 * a digest, because tags change: `node:24-bookworm-slim@sha256:<64 hex digits>`.
 */
import { spawnSync } from 'node:child_process';
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
const args = ['build', '--build-arg', `NODE_IMAGE=${NODE_IMAGE}`, '--tag', tag, '.'];
const { status, error } = spawnSync('docker', args, { cwd: root, stdio: 'inherit' });
if (error) console.error(`docker could not be started: ${error.message}`);
process.exit(status ?? 1);
