import { describe, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../../src/platform/errors.ts';
import { ANYTHING } from '../../../src/platform/storage/changes/changes.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import type { ControlCommand } from '../../../src/protocol/control/envelope.ts';
import { ControlRefusal } from '../../../src/protocol/control/plugin.ts';
import { HostedCalls } from '../../../src/protocol/hosting/hosted-calls.ts';
import { openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();
const API = 'cedalo/topictree';
const KEY = '5e'.repeat(32);

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  async function startProcess(databaseUrl: string, secretKey = KEY, timeoutMs = 30_000) {
    const storage = await openTestStorage({ databaseUrl });
    const sealer = openSealer({ dataDir: temporaryFolder(), secretKey });
    const { db, changes } = storage;
    const calls = new HostedCalls({ db, changes, sealer, log: silentLog, timeoutMs });
    onTestFinished(() => calls.close());
    return { db, changes, sealer, calls };
  }

  test('a command is executed by the process that serves its broker and API, and the response or refusal is returned', async () => {
    const databaseUrl = await postgres.createDatabase();
    const [one, two] = [await startProcess(databaseUrl), await startProcess(databaseUrl)];
    const done: ControlCommand[] = [];
    one.calls.serve('brk_1', API, async (command) => {
      done.push(command);
      if (command.command === 'refuse') throw new ControlRefusal('No', { code: 'NOT_FOUND', info: { what: 'it' } });
      if (command.command === 'fail') throw new ServiceError('IN_USE', 'Busy');
      if (command.command === 'bug') throw new Error('a secret');
      return { told: command.value };
    });
    one.calls.serve('brk_1', 'cedalo/ha', () => 'another API');
    expect(await two.calls.call('brk_1', API, { command: 'get', value: 'Füße' })).toEqual({ told: 'Füße' });
    expect(await two.calls.call('brk_1', 'cedalo/ha', { command: 'get' })).toBe('another API');
    expect(done).toHaveLength(1);
    const refusal = (command: string) => two.calls.call('brk_1', API, { command }).catch((error) => error);
    expect(await refusal('refuse')).toMatchObject({
      message: 'No',
      detail: { code: 'NOT_FOUND', info: { what: 'it' } },
    });
    expect(await refusal('fail')).toMatchObject({ message: 'Busy', detail: { code: 'IN_USE' } });
    expect(await refusal('bug')).toMatchObject({ message: 'Internal error', detail: { code: 'INTERNAL_ERROR' } });
    await expect.poll(() => two.db.hostedCall.count()).toBe(0);
  });

  test('a command without a serving process is executed by the next one, and the response is sealed', async () => {
    const { db, sealer, calls } = await startProcess(await postgres.createDatabase());
    const sent = JSON.stringify({ command: { command: 'get' }, at: Date.now() });
    const command = sealer.seal(sent, `call-1/command/brk_1/${API}`);
    const createdAt = new Date();
    await db.hostedCall.create({ data: { id: 'call-1', brokerId: 'brk_1', api: API, command, createdAt } });
    await db.hostedCall.create({ data: { id: 'call-2', brokerId: 'brk_1', api: 'cedalo/ha', command, createdAt } });
    calls.serve('brk_1', API, () => 'a secret');
    const answerOf = async (id: string) => (await db.hostedCall.findUniqueOrThrow({ where: { id } })).answer;
    await expect.poll(() => answerOf('call-1')).not.toBeNull();
    const answer = (await answerOf('call-1')) ?? '';
    expect(answer).not.toContain('secret');
    expect(JSON.parse(sealer.open(answer, 'call-1/answer'))).toEqual({ data: 'a secret' });
    expect(await answerOf('call-2')).toBeNull();
  });

  test('a sealed command is executed neither for another broker or API, nor a second time after its row was copied', async () => {
    const { db, sealer, calls } = await startProcess(await postgres.createDatabase());
    const rowOf = (id: string, at: number, sealedFor = `${id}/command/brk_1/${API}`) => ({
      id,
      brokerId: 'brk_1',
      api: API,
      command: sealer.seal(JSON.stringify({ command: { command: 'get', id }, at }), sealedFor),
    });
    const now = Date.now();
    await db.hostedCall.createMany({
      data: [
        rowOf('of another broker', now, `of another broker/command/brk_2/${API}`),
        rowOf('of another API', now, 'of another API/command/brk_1/cedalo/ha'),
        rowOf('of another call', now, `call/command/brk_1/${API}`),
        rowOf('old', now - 700_000),
        rowOf('of the future', now + 700_000),
        rowOf('good', now),
      ],
    });
    const done: unknown[] = [];
    calls.serve('brk_1', API, ({ id }) => done.push(id));
    await expect.poll(() => db.hostedCall.count({ where: { answer: { not: null } } })).toBe(1);
    expect(done).toEqual(['good']);
  });

  test('a process with another key does not execute commands', async () => {
    const databaseUrl = await postgres.createDatabase();
    const one = await startProcess(databaseUrl, 'the key of somebody else altogether');
    const two = await startProcess(databaseUrl, KEY, 500);
    let count = 0;
    one.calls.serve('brk_1', API, () => {
      count += 1;
    });
    await expect(two.calls.call('brk_1', API, { command: 'get' })).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
    expect(count).toBe(0);
  });

  test('a command whose response could not be stored is not executed again when it is repeated', async () => {
    const databaseUrl = await postgres.createDatabase();
    const [one, two] = [await startProcess(databaseUrl), await startProcess(databaseUrl)];
    // A sequence counts failed attempts, too.
    await one.db.$executeRawUnsafe('CREATE SEQUENCE attempts');
    await one.db.$executeRawUnsafe(`CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN IF nextval(''attempts'') = 1 THEN RAISE EXCEPTION ''lost''; END IF; RETURN NEW; END'`);
    await one.db.$executeRawUnsafe(
      'CREATE TRIGGER fail_once BEFORE UPDATE ON "HostedCall" FOR EACH ROW EXECUTE FUNCTION fail_once()',
    );
    let count = 0;
    one.calls.serve('brk_1', API, () => {
      count += 1;
      return `response ${count}`;
    });
    const responses: unknown[] = [];
    const call = two.calls.call('brk_1', API, { command: 'create' }).then((response) => responses.push(response));
    const repeated = async () => {
      await one.changes.announce('hostedCall', ANYTHING);
      return responses;
    };
    await expect.poll(repeated).toEqual(['response 1']);
    await call;
    expect(count).toBe(1);
    expect(await one.db.$queryRawUnsafe('SELECT last_value::int AS attempts FROM attempts')).toEqual([{ attempts: 2 }]);
  });
});
