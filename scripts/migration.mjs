#!/usr/bin/env node
/**
 * Writes the next migration of each engine, or checks that no migration is missing. It compares a database after all
 * migrations with prisma/schema.prisma.
 *
 *   node scripts/migration.mjs <name>     writes prisma/migrations/<engine>/NNNN_<name>/migration.sql; the name begins
 *                                         with `expand_` or `contract_`, see scripts/rules/migrations.mjs
 *   node scripts/migration.mjs --check    exits with 2 and prints the missing SQL if a migration is missing
 *   --engine sqlite|postgresql            only this engine
 *
 * The migrations run in a temporary database: an SQLite file, or a PostgreSQL database on the server of
 * SHADOW_DATABASE_URL, whose user must be allowed to create databases. The comparison uses the WebAssembly build of
 * Prisma's schema engine, which needs no download.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { schemaFor } from './generate.mjs';
import { faultsOf, NAME } from './rules/migrations.mjs';

const ENGINES = ['sqlite', 'postgresql'];
const DRIFT_EXIT_CODE = 2;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** One instance of the schema engine for all databases: its JavaScript bindings support only one. */
let loading = null;

/** Prisma's schema engine for a database that an adapter connects to. */
export async function openSchemaEngine(engine, adapter) {
  loading ??= loadEngine();
  const glue = await loading;
  const datamodels = schemaFiles(engine).map(({ path, content }) => [path, content]);
  return glue.SchemaEngine.new({ datamodels }, () => {}, bindMigrationAwareSqlAdapterFactory(adapter));
}

/** Replaces the package's entry point, which imports WebAssembly as a module. Node 20 requires a flag for that. */
async function loadEngine() {
  const require = createRequire(import.meta.url);
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const file = join(dirname(require.resolve('@prisma/schema-engine-wasm')), 'schema_engine_bg.wasm');
  const module = new WebAssembly.Module(readFileSync(file));
  // The engine reports panics only to this global variable.
  globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: (message) => console.error(message) };
  const imports = {};
  for (const wanted of WebAssembly.Module.imports(module)) {
    imports[wanted.module] ??= {};
    imports[wanted.module][wanted.name] = glue[wanted.name];
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  return glue;
}

function schemaFiles(engine) {
  return [{ path: 'schema.prisma', content: schemaFor(engine) }];
}

const migrationsFolder = (engine) => join(root, 'prisma/migrations', engine);

function migrationNames(engine) {
  const folder = migrationsFolder(engine);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The SQL that is missing after the last migration; `null` if the migrations are complete. */
async function missingSql(engine) {
  const scripts = migrationNames(engine).map((name) =>
    readFileSync(join(migrationsFolder(engine), name, 'migration.sql'), 'utf8'),
  );
  const shadow = await (engine === 'sqlite' ? createSqliteShadow(scripts) : createPostgresqlShadow(scripts));
  try {
    const schemaEngine = await openSchemaEngine(engine, shadow.adapter);
    const files = schemaFiles(engine);
    const { stdout, exitCode } = await schemaEngine.diff({
      from: { tag: 'schemaDatasource', files, configDir: root },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    });
    schemaEngine.free();
    return exitCode === DRIFT_EXIT_CODE ? stdout : null;
  } finally {
    await shadow.remove();
  }
}

async function createSqliteShadow(scripts) {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-shadow-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const adapter = new PrismaBetterSqlite3({ url: `file:${join(folder, 'shadow.db')}` });
  try {
    const connection = await adapter.connect();
    for (const sql of scripts) await connection.executeScript(sql);
    await connection.dispose();
  } catch (error) {
    remove();
    throw error;
  }
  return { adapter, remove };
}

async function createPostgresqlShadow(scripts) {
  const serverUrl = process.env.SHADOW_DATABASE_URL;
  if (!serverUrl) throw new Error('SHADOW_DATABASE_URL must name a PostgreSQL server for temporary databases');
  const database = `brokergraph_shadow_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  await query(serverUrl, `CREATE DATABASE ${database}`);
  const remove = () => query(serverUrl, `DROP DATABASE ${database} WITH (FORCE)`);
  try {
    // The adapter splits scripts at every semicolon, so they are run without it.
    for (const sql of scripts) await query(url.href, sql);
  } catch (error) {
    await remove();
    throw error;
  }
  const pool = new CatalogPool({ connectionString: url.href });
  return { adapter: new PrismaPg(pool, { schema: 'public' }), remove: () => pool.end().then(remove) };
}

/** Types of PostgreSQL. The adapter does not support "char", which the schema engine reads from the catalog. */
const CHAR_OID = 18;
const TEXT_OID = 25;

class CatalogPool extends pg.Pool {
  async query(...args) {
    const result = await super.query(...args);
    for (const field of result.fields) if (field.dataTypeID === CHAR_OID) field.dataTypeID = TEXT_OID;
    return result;
  }
}

async function query(url, sql) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function writeMigration(engine, name, sql) {
  const folder = migrationsFolder(engine);
  const number = Number(migrationNames(engine).at(-1)?.slice(0, 4) ?? 0) + 1;
  const migration = join(folder, `${String(number).padStart(4, '0')}_${name}`);
  mkdirSync(migration, { recursive: true });
  writeFileSync(join(migration, 'migration.sql'), sql);
  writeFileSync(join(folder, 'migration_lock.toml'), `# Read by Prisma Migrate.\nprovider = "${engine}"\n`);
  return migration;
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { check: { type: 'boolean', default: false }, engine: { type: 'string' } },
    allowPositionals: true,
  });
  const [name] = positionals;
  if (!values.check && !NAME.test(name ?? '')) {
    const names = 'expand_<name> | contract_<name>';
    throw new Error(`Usage: node scripts/migration.mjs ${names} | --check  [--engine sqlite|postgresql]`);
  }
  if (values.engine && !ENGINES.includes(values.engine)) throw new Error(`Unknown engine "${values.engine}"`);
  // Compares all engines before it writes a file, so that a failure leaves the engines equal.
  const missing = [];
  for (const engine of values.engine ? [values.engine] : ENGINES) {
    const sql = await missingSql(engine);
    const faults = sql === null || values.check ? [] : faultsOf(name, sql);
    if (faults.length > 0) throw new Error(`${engine}: ${faults.join('; ')}\n\n${sql}`);
    missing.push([engine, sql]);
  }
  for (const [engine, sql] of missing) {
    if (sql === null) console.log(`${engine}: the migrations agree with prisma/schema.prisma`);
    else if (values.check) console.log(`${engine}: a migration is missing\n\n${sql}`);
    else console.log(`${engine}: wrote ${writeMigration(engine, name, sql)}`);
  }
  if (values.check && missing.some(([, sql]) => sql !== null)) process.exitCode = DRIFT_EXIT_CODE;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error) => {
    console.error(error.message ?? error);
    process.exitCode = 1;
  });
}
