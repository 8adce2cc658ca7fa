import { expect, test } from 'vitest';
import { runPlan } from '../../../../src/domains/clients/control/bulk-disconnect.ts';
import { notFound } from '../../../../src/platform/errors.ts';
import type { ControlCaller } from '../../../../src/protocol/control/plugin.ts';

/** Responds like the gateway plugin: disconnects whole accounts; clients in no account are not connected. */
function accountsOf(...accounts: string[][]) {
  const commands: unknown[] = [];
  const run = ({ clientid, ...consent }: Readonly<Record<string, unknown>>): PromiseSettledResult<unknown> => {
    commands.push({ clientid, ...consent });
    const at = accounts.findIndex((account) => account.includes(String(clientid)));
    if (at < 0) return { status: 'rejected', reason: notFound('client', String(clientid)) };
    return { status: 'fulfilled', value: { method: 'ACCOUNT', disconnected: accounts.splice(at, 1)[0] } };
  };
  const callAll = async (_api: string, calls: readonly { readonly fields?: object }[]) =>
    calls.map(({ fields = {} }) => run({ ...fields }));
  // Nothing else is asked of it.
  return { controls: { callAll } as unknown as ControlCaller, commands };
}

const kick = (force: boolean, ...clientIds: string[]) => ({
  command: { clientid: clientIds[0] ?? '', force, among: clientIds },
  clientIds,
});

test('when the client of a command has gone, the others of the account are disconnected', async () => {
  const { controls, commands } = accountsOf(['c', 'd', 'late']);
  const plan = { kicks: [kick(false, 'a', 'b', 'c', 'd')], refusals: new Map() };
  const { results, alsoDisconnected } = await runPlan(controls, plan);
  expect([...results.values()].map(({ clientId, status }) => [clientId, status])).toEqual([
    ['a', 'NOT_FOUND'],
    ['b', 'NOT_FOUND'],
    ['c', 'DISCONNECTED'],
    ['d', 'DISCONNECTED'],
  ]);
  expect(alsoDisconnected).toEqual(['late']);
  expect(commands).toHaveLength(3);
});

test('a client that a response omits gets a command of its own, with the same permissions', async () => {
  const { controls, commands } = accountsOf(['a', 'b'], ['c', 'other']);
  const plan = { kicks: [kick(true, 'a', 'b', 'c')], refusals: new Map() };
  const { results, alsoDisconnected } = await runPlan(controls, plan);
  expect([...results.values()].map(({ status }) => status)).toEqual(['DISCONNECTED', 'DISCONNECTED', 'DISCONNECTED']);
  expect(alsoDisconnected).toEqual(['other']);
  expect(commands[1]).toEqual({ clientid: 'c', force: true, among: ['a', 'b', 'c'] });
});

test('long client ids are sent in several payloads, none larger than brokers accept', async () => {
  const clientIds = Array.from({ length: 7 }, (_, index) => `${index}${'é'.repeat(20_000)}`);
  const payloads: number[] = [];
  const callAll = async (_api: string, calls: readonly { readonly fields?: object }[]) => {
    payloads.push(calls.length);
    return calls.map(() => ({ status: 'fulfilled', value: {} }));
  };
  const kicks = [...clientIds, ...Array.from({ length: 501 }, (_, index) => `s${index}`)].map((clientid) => ({
    command: { clientid },
    clientIds: [clientid],
  }));
  const plan = { kicks, refusals: new Map() };
  const { results } = await runPlan({ callAll } as unknown as ControlCaller, plan);
  expect(payloads).toEqual([2, 2, 2, 500, 2]);
  expect([...results.values()].every(({ status }) => status === 'DISCONNECTED')).toBe(true);
});
