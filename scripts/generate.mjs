/**
 * Generates src/generated: Prisma clients for SQLite and PostgreSQL from prisma/schema.prisma, the types of Pothos, the
 * console and GraphiQL.
 * A Prisma client supports one provider, so each client is generated from a copy of the schema with its provider.
 * `prisma generate` requires the file of PRISMA_SCHEMA_ENGINE_BINARY but does not run it. Setting the variable avoids a
 * download, which fails on closed networks.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleConsole, bundleEmbed } from './console/bundle.mjs';
import { bundleGraphiql } from './graphiql/bundle.mjs';
import { noteDone, root } from './stamps.mjs';

const generated = join(root, 'src/generated');
const schema = readFileSync(join(root, 'prisma/schema.prisma'), 'utf8');

/** The schema for one provider. Its client is written to a folder of src/generated. */
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
        // Prisma runs generators as commands. Only npm adds their folder to PATH.
        PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
      encoding: 'utf8',
    });
    if (status !== 0) throw error ?? new Error(`prisma generate failed for ${provider}:\n${stdout}${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function generateAll() {
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
  await bundleGraphiql();
  await bundleConsole();
  await bundleEmbed();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await generateAll();
    noteDone('generated');
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
