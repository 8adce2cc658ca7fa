import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../../src/app/cli/program.ts';
import { SEALED_COLUMNS } from '../../../src/domains/secrets/sealed-columns.ts';
import { SecretRotator } from '../../../src/domains/secrets/secret-rotation.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { newDatabaseUrl, openTestStorage, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';
import { startTestService } from '../../support/service.ts';
import { openedSecrets, plantSecrets, secretOf } from './sealed-rows.ts';

const newKey = () => randomBytes(32).toString('base64');
const sealerOf = (secretKey: string, previousSecretKey?: string) =>
  openSealer({ dataDir: '/nowhere', secretKey, previousSecretKey });
const EXPECTED = SEALED_COLUMNS.map((column) => ({
  name: `${column.model}.${column.column}`,
  secret: secretOf(column),
}));

const ROTATE = `mutation ($input: RotateSecretsInput) {
  rotateSecrets(input: $input) { resealed discarded unreadableCount unreadable { context reason } removable }
}`;
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
// Nothing listens there.
const REMOTE = { name: 'remote', url: 'mqtt://127.0.0.1:1', username: 'ada', password: 'the password' };
const VERIFY = '{ verifyAudit { isIntact problems { reason } } }';

/** The command as it is typed, in this process. */
async function secretsRotate(env: Record<string, string>, ...options: string[]) {
  const output = { out: '', err: '' };
  const code = await runCommand(['secrets', 'rotate', ...options], {
    env,
    out: (text) => {
      output.out += text;
    },
    err: (text) => {
      output.err += text;
    },
    readInput: async () => '',
    isTerminal: false,
    stop: new AbortController().signal,
    onBug: () => undefined,
  });
  return { code, ...output };
}

test('every column that the models call sealed is rotated', () => {
  const models = readFileSync(new URL('../../../prisma/schema.prisma', import.meta.url), 'utf8');
  const sealed = [...models.matchAll(/^model (\w+) \{$([\s\S]*?)^\}/gm)].flatMap(([, model = '', body = '']) =>
    [...body.matchAll(/((?:^ +\/\/\/.*\n)+) +(\w+) +String/gm)]
      .filter(([, comment = '']) => /\bsealed\b/i.test(comment))
      .map(([, , column]) => `${model.charAt(0).toLowerCase()}${model.slice(1)}.${column}`),
  );
  expect(SEALED_COLUMNS.map(({ model, column }) => `${model}.${column}`).sort()).toEqual(sealed.sort());
});

describeEngines((engine, postgres) => {
  const open = async () => openTestStorage({ databaseUrl: await newDatabaseUrl(engine, postgres) });
  const rotatorOf = (db: Awaited<ReturnType<typeof open>>['db'], sealer: ReturnType<typeof sealerOf>) =>
    new SecretRotator({ db, sealer, audit: { resign: async () => undefined } });

  test('every sealed value opens with the new key alone afterwards, and rows look as if nothing had changed', async () => {
    const { db } = await open();
    const [before, after] = [newKey(), newKey()];
    await plantSecrets(db, sealerOf(before));

    const result = await rotatorOf(db, sealerOf(after, before)).rotate({});

    expect(result).toEqual({
      resealed: SEALED_COLUMNS.length,
      discarded: 0,
      unreadable: [],
      unreadableCount: 0,
      removable: 'SECRET_KEY_PREVIOUS',
    });
    const opened = await openedSecrets(db, sealerOf(after));
    expect(opened).toMatchObject(EXPECTED);
    for (const { value } of opened) if (value?.updatedAt) expect(value.updatedAt.getUTCFullYear()).toBe(2020);
    expect(await rotatorOf(db, sealerOf(after, before)).rotate({})).toMatchObject({ resealed: 0, unreadableCount: 0 });
  });

  test('values that no key opens are reported and do not stop the others, and are deleted on demand', async () => {
    const { db } = await open();
    const [before, after] = [newKey(), newKey()];
    await plantSecrets(db, sealerOf(before));
    const lost = sealerOf(newKey());
    await db.broker.update({ where: { id: 'brk_1' }, data: { sealedPassword: lost.seal('x', 'brk_1/password') } });
    await db.user.update({ where: { id: 'usr_1' }, data: { totpSecret: 'damaged' } });
    const rotator = rotatorOf(db, sealerOf(after, before));

    expect(await rotator.rotate({})).toEqual({
      resealed: SEALED_COLUMNS.length - 2,
      discarded: 0,
      unreadable: [
        { context: 'brk_1/password', reason: expect.stringContaining('another key') },
        { context: 'usr_1/second-factor', reason: expect.stringContaining('form') },
      ],
      unreadableCount: 2,
      removable: 'SECRET_KEY_PREVIOUS',
    });

    expect(await rotator.rotate({ discardUnreadable: true })).toMatchObject({ discarded: 1, unreadableCount: 1 });
    expect(await db.broker.findFirst()).toMatchObject({ sealedPassword: null });
    expect(await db.user.findFirst()).toMatchObject({ totpSecret: 'damaged' });
  });

  test('two processes that rotate at the same time leave every value once, with the new key', async () => {
    const databaseUrl = await newDatabaseUrl(engine, postgres);
    const dataDir = temporaryFolder();
    const one = await openTestStorage({ dataDir, databaseUrl });
    // SQLite belongs to one process; there the second rotator shares its connection.
    const other = engine === 'sqlite' ? one : await openTestStorage({ databaseUrl });
    const [before, after] = [newKey(), newKey()];
    const sealer = sealerOf(before);
    await one.db.hostedCall.createMany({
      data: Array.from({ length: 500 }, (_, i) => ({
        id: `cal_${i}`,
        brokerId: 'brk_1',
        api: 'inspect',
        command: sealer.seal(`command ${i}`, `cal_${i}/command`),
      })),
    });

    const results = await Promise.all([one, other].map(({ db }) => rotatorOf(db, sealerOf(after, before)).rotate({})));

    for (const result of results)
      expect(result).toMatchObject({ unreadableCount: 0, removable: 'SECRET_KEY_PREVIOUS' });
    const rows = await one.db.hostedCall.findMany();
    const rotated = sealerOf(after);
    expect(rows.map(({ id, command }) => rotated.open(command, `${id}/command`)).sort()).toEqual(
      rows.map(({ id }) => id.replace('cal_', 'command ')).sort(),
    );
  });

  test('a service with both keys rotates while it runs, and goes on with the new key alone, with its audit intact', async () => {
    const database = await newDatabaseUrl(engine, postgres);
    const [before, after] = [newKey(), newKey()];
    const dataDir = temporaryFolder();
    const env = (secretKey: string) => ({
      SECRET_KEY: secretKey,
      ...(database === undefined ? {} : { DATABASE_URL: database }),
    });
    const first = await startTestService({ dataDir, env: env(before) });
    const input = { projectId: first.projectId, ...REMOTE };
    const { id } = (await first.graphql(ADD, { input })).data.addBroker.broker;
    await first.close();

    const both = await startTestService({ dataDir, env: { ...env(after), SECRET_KEY_PREVIOUS: before } });
    const { out, code } = await secretsRotate({ DATA_DIR: dataDir });
    expect(out).toContain('SECRET_KEY_PREVIOUS may be removed');
    expect(code).toBe(0);
    await both.close();

    const last = await startTestService({ dataDir, env: env(after) });
    const broker = await last.storage.db.broker.findUniqueOrThrow({ where: { id } });
    expect(sealerOf(after).open(broker.sealedPassword ?? '', `${id}/password`)).toBe('the password');
    expect((await last.graphql(VERIFY)).data.verifyAudit).toEqual({ isIntact: true, problems: [] });
  });
});

test('a generated key is replaced while the service runs, and the previous one stays until it is removed', async () => {
  const dataDir = temporaryFolder();
  const [file, previous] = [join(dataDir, 'secret.key'), join(dataDir, 'secret.key.previous')];
  const service = await startTestService({ dataDir });
  const input = { projectId: service.projectId, ...REMOTE };
  const { id } = (await service.graphql(ADD, { input })).data.addBroker.broker;
  const keyBefore = readFileSync(file, 'utf8');

  expect((await service.graphql(ROTATE)).data.rotateSecrets).toMatchObject({ resealed: 1, removable: previous });

  expect(readFileSync(previous, 'utf8')).toBe(keyBefore);
  const keyAfter = readFileSync(file, 'utf8');
  expect(keyAfter).not.toBe(keyBefore);
  // Until the operator removes it, a further call continues the same rotation.
  expect((await service.graphql(ROTATE)).data.rotateSecrets).toMatchObject({ resealed: 0, removable: previous });
  expect(readFileSync(file, 'utf8')).toBe(keyAfter);
  await service.close();

  rmSync(previous);
  const next = await startTestService({ dataDir });
  const { sealedPassword } = await next.storage.db.broker.findUniqueOrThrow({ where: { id } });
  expect(openSealer({ dataDir }).open(sealedPassword ?? '', `${id}/password`)).toBe('the password');
  expect((await next.graphql(ROTATE)).data.rotateSecrets).toMatchObject({ resealed: 1 });
});

test('a rotation that ended after the new key file was written continues with that key', async () => {
  const dataDir = temporaryFolder();
  const { db } = await openTestStorage({ databaseUrl: undefined });
  const first = openSealer({ dataDir });
  await plantSecrets(db, first);
  first.renewKey();
  const key = readFileSync(join(dataDir, 'secret.key'), 'utf8');

  const sealer = openSealer({ dataDir });
  const { resealed } = await new SecretRotator({ db, sealer, audit: { resign: async () => undefined } }).rotate({});

  expect(resealed).toBe(SEALED_COLUMNS.length);
  expect(readFileSync(join(dataDir, 'secret.key'), 'utf8')).toBe(key);
  rmSync(join(dataDir, 'secret.key.previous'));
  expect(await openedSecrets(db, openSealer({ dataDir }))).toMatchObject(EXPECTED);
});

test('without a previous key nothing is rotated, and the message says how to set both', async () => {
  const service = await startTestService({ env: { SECRET_KEY: newKey() } });
  const { errors } = await service.graphql(ROTATE);
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'INVALID' } });
  expect(errors?.[0]?.message).toContain('SECRET_KEY_PREVIOUS');
  const { token } = await service.person('ADMIN');
  expect((await service.graphql(ROTATE, {}, token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
});

test('a start with a key that opens no stored secret is refused in words, and allowed once they are discarded', async () => {
  const dataDir = temporaryFolder();
  const service = await startTestService({ dataDir });
  const input = { projectId: service.projectId, ...REMOTE };
  const { id } = (await service.graphql(ADD, { input })).data.addBroker.broker;
  await service.close();
  const file = join(dataDir, 'secret.key');
  renameSync(file, `${file}.away`);

  const start = startTestService({ dataDir });
  await expect(start).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('SECRET_KEY') });
  await expect(start).rejects.toThrow('secrets rotate --discard-unreadable');

  // The key is found again: all is as it was.
  const other = readFileSync(file, 'utf8');
  renameSync(`${file}.away`, file);
  const again = await startTestService({ dataDir });
  expect(again.report.url).toMatch(/^http/);
  await again.close();

  // The key is lost permanently.
  rmSync(file);
  expect(existsSync(file)).toBe(false);
  expect(await secretsRotate({ DATA_DIR: dataDir, SECRET_KEY: other.trim() }, '--discard-unreadable')).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 secrets that no key opens were deleted'),
  });
  const last = await startTestService({ dataDir, env: { SECRET_KEY: other.trim() } });
  expect((await last.storage.db.broker.findUnique({ where: { id } }))?.sealedPassword).toBeNull();
});
