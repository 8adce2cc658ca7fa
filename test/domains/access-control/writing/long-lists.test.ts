import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { documentOf } from '../../../../src/domains/access-control/documents/access-document.ts';
import { planImport } from '../../../../src/domains/access-control/documents/access-import.ts';
import { whoCan } from '../../../../src/domains/access-control/explain/who-can.ts';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import { AccessWriter } from '../../../../src/domains/access-control/writing/access-writer.ts';
import type { DynsecWrite } from '../../../../src/domains/access-control/writing/dynsec-writes.ts';
import { PolicyDraft } from '../../../../src/domains/access-control/writing/policy-draft.ts';
import { WriteQueue } from '../../../../src/domains/access-control/writing/write-queue.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { runInSlices } from '../../../../src/platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import type { ControlCaller } from '../../../../src/protocol/control/plugin.ts';
import { isLong } from '../../../support/suite.ts';
import { planChanges } from '../at-once.ts';
import { MOSQUITTO_2_1 } from '../dialects.ts';
import { policyOf } from '../policy/policy-builder.ts';
import { at } from './written-access.ts';

/** Enough for several slices of each kind of work. */
const ACCOUNTS = isLong ? 20_000 : 4_000;
const numbered = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, number) => make(number));

const DOCUMENT = {
  format: 'brokergraph/access-control',
  version: 1,
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  roles: numbered(500, (number) => ({
    rolename: `r${number}`,
    acls: [
      { aclType: 'publishClientSend', topic: `r${number}/#`, allow: true },
      { aclType: 'subscribePattern', topic: '%u/%c/#', allow: number % 2 === 0 },
    ],
  })),
  groups: numbered(500, (number) => ({ groupname: `g${number}`, roles: [{ name: `r${(number * 7) % 500}` }] })),
  clients: numbered(ACCOUNTS, (number) => ({
    username: `c${number}`,
    roles: [{ name: `r${number % 500}` }],
    groups: [{ name: `g${(number * 3) % 500}`, priority: 2 }],
  })),
};
const EMPTY = policyOf({});
const OPTIONS = {
  deleteOthers: false,
  passwords: new Map<string, string>(),
  setPasswords: false,
  gatewayUsername: null,
};

/** How often the event loop turned while the work was done. A turn is at most one slice away from the next. */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; turns += 1) await turn();
  })();
  const result = await work();
  isOver = true;
  await watching;
  return { result, turns };
}

interface FakeBroker {
  policy: AccessPolicy;
  readonly writer: AccessWriter;
  readonly queue: WriteQueue;
}

/** A broker that executes commands immediately, except those that `refuses` matches. */
function startFake(policy: AccessPolicy, writesPerPayload: number, refuses: (sent: number) => boolean): FakeBroker {
  const dialect = { ...MOSQUITTO_2_1, writesPerPayload };
  let sent = 0;
  const controls: Pick<ControlCaller, 'callAll'> = {
    callAll: async (_api, commands) => {
      const draft = new PolicyDraft(fake.policy);
      const results = commands.map(({ command, fields }): PromiseSettledResult<unknown> => {
        sent += 1;
        if (refuses(sent)) return { status: 'rejected', reason: new ServiceError('BROKER_REJECTED', 'not this one') };
        draft.run({ command, fields } as DynsecWrite);
        return { status: 'fulfilled', value: null };
      });
      fake.policy = draft;
      return results;
    },
  };
  const now = async () => ({ policy: fake.policy, dialect });
  const writer = new AccessWriter({
    index: { current: now, refresh: now },
    controls,
    session: { status: { state: 'CONNECTED', since: new Date(0).toISOString() }, onStatus: () => () => {} },
    gatewayUsername: null,
    connectedClients: async () => ({ clients: [], isComplete: true }),
  });
  const fake: FakeBroker = { policy, writer, queue: new WriteQueue((writes) => writer.write(writes)) };
  return fake;
}

test('the event loop turns while 20,000 accounts are parsed, compared, planned, written, exported and asked who can', async () => {
  const wanted = await turnsDuring(() =>
    runInSlices(planImport(EMPTY, MOSQUITTO_2_1, { document: DOCUMENT }, OPTIONS)),
  );
  const { changes } = wanted.result;
  expect(changes).toHaveLength(ACCOUNTS + 1_000 + 1);
  expect(wanted.turns).toBeGreaterThan(3);

  const fake = startFake(EMPTY, 500, () => false);
  const dry = await turnsDuring(() => fake.writer.dryRun({ changes, mayControl: true }));
  expect(dry.result.outcome).toBe('PLANNED');
  expect(dry.turns).toBeGreaterThan(3);
  const written = await turnsDuring(() => fake.queue.write({ changes, mayControl: true }));
  expect(written.result.outcome).toBe('APPLIED');
  expect(written.turns).toBeGreaterThan(6);
  expect(fake.policy.clients.size).toBe(ACCOUNTS);

  const exported = await turnsDuring(() => runInSlices(documentOf(fake.policy)));
  expect(exported.result.clients).toHaveLength(ACCOUNTS);
  expect(exported.turns).toBeGreaterThan(0);
  const again = await runInSlices(planImport(fake.policy, MOSQUITTO_2_1, { document: exported.result }, OPTIONS));
  expect(again.changes).toEqual([]);
  const who = await turnsDuring(() => runInSlices(whoCan(fake.policy, MOSQUITTO_2_1, 'SUBSCRIBE', 'c8/x/y')));
  expect(who.result).toEqual([expect.objectContaining({ username: 'c8', conditional: true })]);
  expect(who.turns).toBeGreaterThan(0);
});

test('where every payload is refused in part, each change is planned a second time and no oftener', async () => {
  const plannedWith = async (refuses: (sent: number) => boolean) => {
    let looks = 0;
    const changes = numbered(
      2_000,
      (number): AccessChange => ({
        get kind() {
          looks += 1;
          return 'PUT_ROLE' as const;
        },
        roleName: `r${number}`,
        mode: 'CREATE',
        fields: {},
      }),
    );
    const { queue } = startFake(EMPTY, 10, refuses);
    const report = await queue.write({ changes, mayControl: true });
    return { looks, outcomes: report.changes.map(({ outcome }) => outcome) };
  };
  const smooth = await plannedWith(() => false);
  const rough = await plannedWith((sent) => sent % 10 === 0);
  expect(new Set(smooth.outcomes)).toEqual(new Set(['APPLIED']));
  expect(rough.outcomes.filter((outcome) => outcome === 'REJECTED')).toHaveLength(200);
  // One look ahead at the end of each payload.
  expect(rough.looks).toBeLessThan(smooth.looks * 2.2);
});

test('commands on one group or role share the list of disconnected accounts', () => {
  const held = numbered(2_000, (number) => [`c${number}`, { groups: ['g'], roles: ['r'] }] as const);
  const world = policyOf({ roles: { r: [], s: [] }, groups: { g: ['s'] }, clients: Object.fromEntries(held) });
  const rules = (rolename: string) =>
    numbered(
      100,
      (number): AccessChange => ({
        kind: 'PUT_ROLE_ACL',
        roleName: rolename,
        acl: { aclType: 'publishClientSend', topic: `t/${number}`, priority: 0, allow: true },
      }),
    );
  const changes: AccessChange[] = [
    ...rules('r'),
    ...rules('s'),
    { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('r') },
    { kind: 'REMOVE_GROUP_ROLE', groupName: 'g', roleName: 'r' },
  ];
  const plan = planChanges(world, MOSQUITTO_2_1, changes, { gatewayUsername: null });
  const lists = plan.changes.flatMap(({ commands }) => commands.map(({ kicks }) => kicks.usernames));
  expect(lists).toHaveLength(202);
  for (const list of lists) expect(list).toHaveLength(2_000);
  expect(new Set(lists).size).toBe(2);
});
