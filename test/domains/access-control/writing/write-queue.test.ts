import { expect, test } from 'vitest';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import { WriteQueue } from '../../../../src/domains/access-control/writing/write-queue.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { at, openWriting } from './written-access.ts';

const role = (rolename: string, mode: 'CREATE' | 'UPDATE' = 'CREATE'): AccessChange => ({
  kind: 'PUT_ROLE',
  roleName: rolename,
  mode,
  fields: {},
});
const numbered = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, number) => make(number));

test('writes that wait are merged into payloads, in the order of their arrival, and each has its own report', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { apply, fresh, payloads, sent } = await openWriting(broker.url);
  const reports = await Promise.all([
    ...numbered(100, (number) => apply(role(`r${number}`))),
    // Refused by the plan, unchanged, and of two changes.
    apply(role('r7')),
    apply(role('r7', 'UPDATE')),
    apply({ kind: 'PUT_CLIENT', username: 'ann', mode: 'CREATE', fields: {} }, role('missing', 'UPDATE')),
    apply({ kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r99') }),
  ]);
  expect(reports.slice(0, 100).map(({ outcome }) => outcome)).toEqual(Array(100).fill('APPLIED'));
  expect(reports.slice(100)).toMatchObject([
    { outcome: 'REJECTED', changes: [{ error: { code: 'ALREADY_EXISTS' } }] },
    { outcome: 'UNCHANGED', changes: [{ commands: [] }] },
    {
      outcome: 'PARTLY_APPLIED',
      changes: [{ outcome: 'APPLIED' }, { outcome: 'REJECTED', error: { code: 'NOT_FOUND' } }],
      blastRadius: { usernames: [] },
    },
    {
      outcome: 'APPLIED',
      changes: [{ commands: [{ command: 'addClientRole' }] }],
      blastRadius: { usernames: ['ann'] },
    },
  ]);
  expect(sent()).toHaveLength(102);
  const { roles, clients } = await fresh();
  expect(roles.has('r99')).toBe(true);
  expect(clients.get('ann')?.roles).toEqual([at('r99')]);
  // The first write is alone. Mosquitto 2.0 gets ten commands in a payload.
  expect(payloads.length).toBeLessThanOrEqual(12);
});

test('a missing priority is that of the write before it in the same payload', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { apply, fresh } = await openWriting(broker.url);
  await apply(role('r'), role('s'), { kind: 'PUT_CLIENT', username: 'ann', mode: 'CREATE', fields: {} });
  const keep = (name: string) => ({ name, priority: null });
  await Promise.all([
    apply({ kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r', 4) }),
    apply({ kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r', 5) }),
    apply({ kind: 'PUT_CLIENT', username: 'ann', mode: 'UPDATE', fields: { roles: [keep('r'), keep('s')] } }),
  ]);
  expect((await fresh()).clients.get('ann')?.roles).toEqual([at('r', 5), at('s')]);
});

test('the rights of each write are its own, also in one payload with those of an administrator', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { writer, fresh, payloads } = await openWriting(broker.url);
  const queue = new WriteQueue((writes) => writer.write(writes));
  const control = (rolename: string): AccessChange => ({
    kind: 'PUT_ROLE_ACL',
    roleName: rolename,
    acl: { aclType: 'publishClientSend', topic: '$CONTROL/#', priority: 0, allow: true },
  });
  const write = (mayControl: boolean, ...changes: AccessChange[]) => queue.write({ changes, mayControl });
  await write(true, role('mine'), role('yours'));
  const before = payloads.length;
  const reports = await Promise.all([
    write(true, role('first')),
    write(true, control('mine')),
    write(false, control('yours')),
    write(false, role('plain')),
  ]);
  expect(reports.map(({ outcome }) => outcome)).toEqual(['APPLIED', 'APPLIED', 'REJECTED', 'APPLIED']);
  expect(reports[2]?.changes[0]?.error).toMatchObject({ code: 'NOT_ALLOWED' });
  expect(payloads.length - before).toBe(2);
  const { roles } = await fresh();
  expect(roles.get('mine')?.acls).toHaveLength(1);
  expect(roles.get('yours')?.acls).toEqual([]);
});

test('a command that the broker refuses fails its own write only', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const other = await openWriting(broker.url);
  const { apply, fresh, index } = await openWriting(broker.url);
  const current = index.current.bind(index);
  let runs = 0;
  index.current = async () => {
    const snapshot = await current();
    // Another administrator is faster, after the policy was read.
    if (++runs === 2) await other.send({ command: 'createRole', fields: { rolename: 'r5' } });
    return snapshot;
  };
  const reports = await Promise.all(numbered(10, (number) => apply(role(`r${number}`))));
  expect(reports.map(({ outcome }) => outcome)).toEqual(numbered(10, (n) => (n === 5 ? 'REJECTED' : 'APPLIED')));
  expect(reports[5]?.changes[0]?.error).toMatchObject({ code: 'ALREADY_EXISTS' });
  expect([...(await fresh()).roles.keys()]).toEqual(expect.arrayContaining(numbered(10, (n) => `r${n}`)));
});

test('a lost response leaves each write with what a read shows', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { apply, fresh, link } = await openWriting(broker.url, {
    onPayload: (count) => {
      // The broker executes the payload, but its response finds no connection.
      if (count === 1) setImmediate(() => link.restart('lost on purpose'));
    },
  });
  await apply(role('there'));
  const account = (username: string, password?: string): AccessChange => ({
    kind: 'PUT_CLIENT',
    username,
    mode: 'CREATE',
    fields: password === undefined ? {} : { password },
  });
  const reports = await Promise.all(numbered(20, (number) => apply(account(`c${number}`))));
  const { clients } = await fresh();
  for (const [number, { outcome }] of reports.entries()) {
    expect(outcome).toBe(clients.has(`c${number}`) ? 'APPLIED' : 'REJECTED');
  }
});

test('beyond 10,000 waiting changes a write is refused, and accepted again after a run', async () => {
  let finish: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const merged: number[] = [];
  const queue = new WriteQueue(async (writes) => {
    merged.push(writes.length);
    await gate;
    return writes.map(({ changes }) => ({
      outcome: 'APPLIED',
      changes: changes.map(() => ({ outcome: 'APPLIED', commands: [], before: null, error: null })),
      blastRadius: { clients: [], usernames: [], anonymous: false, gateway: false, isComplete: true },
    }));
  });
  const write = (count: number) => queue.write({ changes: Array(count).fill(role('r')), mayControl: true });
  // A list of any length is accepted while no other waits, also during a run.
  const accepted = [write(20_000), write(12_000)];
  const refusal = { code: 'BROKER_TIMEOUT', status: 503, info: { retryAfterSeconds: 5 } };
  await expect(write(1)).rejects.toMatchObject(refusal);
  finish();
  await Promise.all(accepted);
  const many = numbered(10_000, () => write(1));
  await expect(Promise.all(many)).resolves.toHaveLength(10_000);
  expect(merged.slice(0, 3)).toEqual([1, 1, 1]);
  expect(Math.max(...merged)).toBe(200);
});
