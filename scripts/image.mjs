/**
 * `npm run image -- <tag>`: builds the container image for a release. NODE_BUILD_IMAGE and NODE_IMAGE name the base
 * images and must contain a digest, because tags change: `node:24.18-bookworm-slim@sha256:<64 hex digits>`.
 */
import { spawnSync } from 'node:child_process';
import { root } from './stamps.mjs';

const PINNED = /^\S+@sha256:[0-9a-f]{64}$/;
const names = ['NODE_BUILD_IMAGE', 'NODE_IMAGE'];
const unpinned = names.filter((name) => !PINNED.test(process.env[name] ?? ''));
const [tag = 'brokergraph'] = process.argv.slice(2);

if (unpinned.length > 0) {
  for (const name of unpinned)
    console.error(
      `${name} must be an image with its digest, as node:24.18-bookworm-slim@sha256:…; it is "${process.env[name] ?? ''}"`,
    );
  console.error('`docker buildx imagetools inspect node:24.18-bookworm-slim` shows the digest of a tag.');
  process.exit(1);
}
const args = names.flatMap((name) => ['--build-arg', `${name}=${process.env[name]}`]);
const { status, error } = spawnSync('docker', ['build', ...args, '--tag', tag, '.'], { cwd: root, stdio: 'inherit' });
if (error) console.error(`docker could not be started: ${error.message}`);
process.exit(status ?? 1);
