/**
 * Generates what the sources import from src/generated: two Prisma clients (SQLite and PostgreSQL) from the one
 * prisma/schema.prisma, and Pothos' types. Prisma fixes the provider when it generates, so each client gets a copy of the
 * schema with its own provider. `PRISMA_SCHEMA_ENGINE_BINARY` is named because `generate` insists on the file although it
 * never runs it, and its download is impossible on closed networks.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteDone, root } from './stamps.mjs';

const generated = join(root, 'src/generated');
const schema = readFileSync(join(root, 'prisma/schema.prisma'), 'utf8');

/** The project's schema for one provider, its client written below src/generated. */
export function schemaFor(provider) {
  return schema
    .replace(/provider = "sqlite"/, `provider = "${provider}"`)
    .replace(/output( +)= ".*"/, `output$1= ${JSON.stringify(join(generated, provider))}`);
}

function generate(provider, generators = '') {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-generate-'));
  try {
    const file = join(folder, 'schema.prisma');
    writeFileSync(file, schemaFor(provider) + generators);
    const prisma = join(root, 'node_modules/prisma/build/index.js');
    const { status, error, stdout, stderr } = spawnSync(process.execPath, [prisma, 'generate', '--schema', file], {
      cwd: root,
      env: {
        ...process.env,
        // Generators are commands: found here also when the script is not run by npm.
        PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
      encoding: 'utf8',
    });
    // Prisma reports each step, on both streams: of interest only when one failed.
    if (status !== 0) throw error ?? new Error(`prisma generate failed for ${provider}:\n${stdout}${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function generateAll() {
  rmSync(generated, { recursive: true, force: true });
  mkdirSync(generated, { recursive: true });
  generate(
    'sqlite',
    `
generator pothos {
  provider          = "prisma-pothos-types"
  clientOutput      = "./sqlite/client.ts"
  output            = ${JSON.stringify(join(generated, 'pothos.ts'))}
  generateDatamodel = true
}
`,
  );
  generate('postgresql');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    generateAll();
    noteDone('generated');
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
