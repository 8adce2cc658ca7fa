/** Records a hash of the inputs of each setup step, so that steps with unchanged inputs are skipped. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commitOf } from './commit.mjs';
import { fault } from './node.mjs';

// All scripts but node.mjs import this module.
const reason = fault();
if (reason !== null) {
  console.error(`${reason}. \`npm start\`, \`npm test\` and \`npm run check\` run on Node 24 from npm instead.`);
  process.exit(1);
}

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'node_modules/.brokergraph');

/** The generated files, 6 of 10 MB of src, depend on these inputs only. */
const GENERATED = 'src/generated';
const FOR_GENERATED = [
  'prisma/schema.prisma',
  'schema.graphql',
  'console',
  'scripts/generate.mjs',
  'scripts/console',
  'scripts/graphiql',
  'scripts/page-files.mjs',
  'package-lock.json',
];

export const DEPLOY_TOOLS = 'scripts/deploy-tools';
export const HELM = `${DEPLOY_TOOLS}/node_modules/.helm/helm/helm`;

/**
 * `inputs`: files and folders. `made`: a file that exists after the step. `output`: the folder with all of its files.
 * `value`: what else its output depends on.
 */
const STEPS = {
  packages: { inputs: ['package-lock.json', 'package.json'], made: 'node_modules/typescript', output: 'node_modules' },
  generated: {
    inputs: FOR_GENERATED,
    made: `${GENERATED}/pothos.ts`,
    output: GENERATED,
  },
  schemaLint: {
    inputs: ['scripts/schema-lint/package-lock.json'],
    made: 'scripts/schema-lint/node_modules/eslint',
    output: 'scripts/schema-lint/node_modules',
  },
  examples: {
    inputs: ['examples/package-lock.json'],
    made: 'examples/node_modules/graphql-ws',
    output: 'examples/node_modules',
  },
  deployTools: {
    inputs: [`${DEPLOY_TOOLS}/package-lock.json`],
    made: HELM,
    output: `${DEPLOY_TOOLS}/node_modules`,
  },
  compiled: {
    inputs: [...FOR_GENERATED, 'src', 'scripts/build.mjs', 'scripts/bundle.mjs'],
    made: 'dist/main.js',
    // dist names it. A compilation takes a second.
    value: commitOf,
  },
};

export const outputOf = (step) => STEPS[step].output;

/** Whether the step was done with the current inputs and its output exists. */
export function isDone(step) {
  const stamp = join(folder, step);
  return existsSync(join(root, STEPS[step].made)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === stateOf(step);
}

export function noteDone(step) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, step), stateOf(step));
}

/** A hash of the contents, not of times, so that a checkout of another commit and back gives the same hash. */
export function stateOf(step) {
  const { inputs, value } = STEPS[step];
  const hash = createHash('sha256').update(process.version);
  if (value) hash.update(String(value()));
  const add = (path, isFolder) => {
    if (!isFolder) hash.update(`${path}\n`).update(readFileSync(join(root, path)));
    else if (path !== GENERATED) {
      for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
        add(`${path}/${entry.name}`, entry.isDirectory());
      }
    }
  };
  for (const input of inputs) add(input, statSync(join(root, input)).isDirectory());
  return hash.digest('hex');
}
