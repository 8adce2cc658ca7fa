import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import { runHere } from '../../support/command.ts';
import { temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { mainProgram, startServiceProcess } from '../../support/service-process.ts';

const CREATE = 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }';
const UPDATE = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { name } } }';
const NAME = 'query ($id: ID!) { project(id: $id) { name } }';

/** A newer build: this one with further migrations. */
function newerBuild() {
  const root = dirname(dirname(mainProgram));
  const folder = temporaryFolder();
  for (const name of ['dist', 'package.json', 'prisma/migrations']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    program: join(folder, 'dist/main.js'),
    addMigration: (name: string, sql: string) => {
      const migration = join(folder, 'prisma/migrations/postgresql', name);
      mkdirSync(migration);
      writeFileSync(join(migration, 'migration.sql'), sql);
    },
  };
}

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('the previous version reads, writes and restarts next to a version with an expand migration, until a contract migration', async () => {
    const env = { DATABASE_URL: await postgres.createDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const previous = await startServiceProcess(env);
    const build = newerBuild();
    const added = `ALTER TABLE "Project" ADD COLUMN "colour" TEXT NOT NULL DEFAULT 'blue'`;
    build.addMigration('9001_expand_colours', `${added}; CREATE TABLE "Colour" ("name" TEXT NOT NULL)`);
    const newer = await startServiceProcess(env, build.program);

    const nameIn = async (service: typeof newer, id: string) => (await service.graphql(NAME, { id })).project.name;
    const exchange = async () => {
      for (const [one, other] of [[previous, newer] as const, [newer, previous] as const]) {
        const { id } = (await one.graphql(CREATE, { input: { name: 'new' } })).createProject.project;
        expect(await nameIn(other, id)).toBe('new');
        await other.graphql(UPDATE, { input: { projectId: id, name: 'changed' } });
        await expect.poll(() => nameIn(one, id)).toBe('changed');
      }
    };
    await exchange();
    const { commit, builtAt } = JSON.parse(readFileSync(join(dirname(mainProgram), 'build.json'), 'utf8'));
    const { processes } = await newer.graphql('{ processes { version commit builtAt } }');
    expect(processes).toEqual([previous, newer].map(() => ({ version: BUILD.version, commit, builtAt })));
    await previous.kill();
    await previous.start();
    await exchange();

    build.addMigration('9002_contract_colours', 'DROP TABLE "Colour"');
    await newer.stop();
    await newer.start();
    await exchange();
    const { code, err } = await runHere(['serve'], { ...env, DATA_DIR: temporaryFolder(), PORT: '0' });
    expect([code, err]).toEqual([1, expect.stringMatching(/migration 9002_contract_colours, which this version does/)]);
  });
});
