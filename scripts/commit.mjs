/** The name of the commit that is built. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The short hash, with `-dirty` if files differ from the commit. Without a repository the value of BUILD_COMMIT, which
 * builds of images set; otherwise `null`.
 */
export function commitOf() {
  // A repository that only contains this folder has commits of something else.
  const commit = existsSync(join(root, '.git')) ? git('rev-parse', '--short', 'HEAD') : null;
  if (commit === null) return process.env.BUILD_COMMIT || null;
  return git('status', '--porcelain') === '' ? commit : `${commit}-dirty`;
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
