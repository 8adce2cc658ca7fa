import { execFileSync } from 'node:child_process';
import { readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import type { CommandState, WriteReport } from '../../../../src/domains/access-control/writing/access-report.ts';
import type { DynsecWrite } from '../../../../src/domains/access-control/writing/dynsec-writes.ts';
import { PolicyDraft } from '../../../../src/domains/access-control/writing/policy-draft.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import type { ControlCall } from '../../../../src/protocol/control/plugin.ts';
import { startBrokerProcess } from '../../../data-plane/broker/broker-process.ts';
import { ADMIN, mosquittoProgram, startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { mosquittoDialect } from '../dialects.ts';
import { at, openWriting, plain } from './written-access.ts';

/** Two hundred changes, dependent and independent ones: accounts with roles and passwords, rules, deleted roles. */
function manyChanges(): AccessChange[] {
  return Array.from({ length: 40 }, (_, number): AccessChange[] => [
    { kind: 'PUT_ROLE', roleName: `r${number}`, mode: 'CREATE', fields: { textName: `role ${number}` } },
    {
      kind: 'PUT_CLIENT',
      username: `c${number}`,
      mode: 'CREATE',
      fields: { password: 'secret', roles: [at(`r${number}`), at('common', number)] },
    },
    {
      kind: 'PUT_ROLE_ACL',
      roleName: 'common',
      acl: { aclType: 'publishClientSend', topic: `t/${number}`, priority: number, allow: true },
    },
    { kind: 'ADD_CLIENT_GROUP', username: `c${number}`, group: at('all', number) },
    number % 4 === 0
      ? { kind: 'DELETE_ROLE', roleName: `r${number}` }
      : { kind: 'PUT_CLIENT', username: `c${number}`, mode: 'UPDATE', fields: { textDescription: `client ${number}` } },
  ]).flat();
}

const PREPARED: readonly AccessChange[] = [
  { kind: 'PUT_ROLE', roleName: 'common', mode: 'CREATE', fields: {} },
  { kind: 'PUT_GROUP', groupName: 'all', mode: 'CREATE', fields: {} },
];

/** Starts a broker with a long file, so that one payload takes long: 2.0 writes its whole file for each command. */
async function startSlowly() {
  const folder = temporaryFolder();
  const file = join(folder, 'dynsec.json');
  execFileSync('mosquitto_ctrl', ['dynsec', 'init', file, ADMIN.username, ADMIN.password], { stdio: 'ignore' });
  const content = JSON.parse(readFileSync(file, 'utf8'));
  for (let number = 0; number < 2_000; number += 1) content.roles.push({ rolename: `many ${number}`, acls: [] });
  writeFileSync(file, JSON.stringify(content));
  const broker = await startMosquitto({
    lines: [`plugin ${mosquittoProgram().plugin}`, `plugin_opt_config_file ${file}`, 'allow_anonymous false'],
  });
  return { broker, file };
}

/** Number of runs after which Mosquitto has a part of the payload, and the embedded broker has none of it. */
const PROOFS = 3;
const MAX_RUNS = 40;

/** Mosquitto 2.1 does not write its file in place for each command, so that nothing shows where it was killed. */
const inPlaceTest = test.skipIf(mosquittoDialect().disconnectsOnRoleAcls);

inPlaceTest('Mosquitto killed in the middle of 200 changes: the report is what it has, change by change', async () => {
  let proofs = 0;
  for (let run = 0; run < MAX_RUNS && proofs < PROOFS; run += 1) {
    const payload = 1 + ((run * 7) % 22);
    if (await killedWith(payload, 1 + (run % 6), Math.random() * 12)) proofs += 1;
  }
  expect(proofs).toBe(PROOFS);
});

inPlaceTest(
  'Mosquitto killed before it has seen the payload: nothing of it happened, and the rest goes on',
  async () => {
    expect(await killedWith(9, 0, 0)).toBe(false);
  },
);

/** Kills the broker during a payload. Returns whether it restarts with a part of the payload. */
async function killedWith(payload: number, writes: number, laterMs: number): Promise<boolean> {
  const { broker, file } = await startSlowly();
  let first = Number.POSITIVE_INFINITY;
  let isBack: Promise<boolean> | null = null;
  const kill = () => {
    isBack ??= broker.kill().then(async () => {
      // 2.0 writes its file in place: killed meanwhile, it has nothing to come back with.
      if (!isWhole(file)) return false;
      await broker.start();
      return true;
    });
  };
  const { apply, index, fresh, payloads, link } = await openWriting(broker.url, {
    readBackMs: 5_000,
    onPayload: (count) => {
      if (count - first !== payload) return;
      if (writes === 0) kill();
      else afterWrites(file, writes, () => void setTimeout(kill, laterMs));
    },
  });
  await apply(...PREPARED);
  const { policy } = await index.current();
  const changes = manyChanges();
  expect(changes).toHaveLength(200);
  first = payloads.length;

  const report = await apply(...changes);

  expect(isBack).not.toBeNull();
  if (!(await isBack)) {
    expect(report.outcome).toBe('UNKNOWN');
    expect(report.changes.flatMap((change) => change.commands).at(-1)?.state).toBe('NOT_SENT');
    await link.close();
    return false;
  }
  compare(report, changes, policy, await fresh());
  const states = statesOf(report, payloads[first + payload] ?? []);
  await link.close();
  expectNothingTwice(payloads.slice(first));
  return states.has('APPLIED') && states.has('REJECTED');
}

test('an embedded broker killed in the middle of 200 changes: the report is what is on its disk', async () => {
  let lost = 0;
  for (let round = 0; round < MAX_RUNS && lost < PROOFS; round += 1) {
    const folder = temporaryFolder();
    let broker = await startBrokerProcess(folder);
    const { port, url } = broker;
    let first = Number.POSITIVE_INFINITY;
    let isBack: Promise<void> | null = null;
    const kill = async () => {
      await broker.kill();
      broker = await startBrokerProcess(folder, port);
    };
    const { apply, index, fresh, payloads, link } = await openWriting(url, {
      onPayload: (count) => {
        if (count - first !== round % 2) return;
        setTimeout(() => {
          isBack ??= kill();
        }, Math.random() * 15);
      },
    });
    await apply(...PREPARED);
    const { policy } = await index.current();
    const changes = manyChanges();
    first = payloads.length;

    const report = await apply(...changes);

    await expect.poll(() => isBack).not.toBeNull();
    await isBack;
    await expect.poll(() => link.status.state).toBe('CONNECTED');
    compare(report, changes, policy, await fresh());
    const states = statesOf(report, payloads[first + (round % 2)] ?? []);
    // It commits a payload as a whole.
    expect(states.size).toBe(1);
    if (states.has('REJECTED')) lost += 1;
    expectNothingTwice(payloads.slice(first));
    await link.close();
    await broker.kill();
  }
  expect(lost).toBe(PROOFS);
});

/** Exactly the applied commands produce the current policy, and each change has the reported outcome. */
function compare(report: WriteReport, changes: readonly AccessChange[], before: AccessPolicy, now: AccessPolicy): void {
  const commands = report.changes.flatMap((change) => change.commands);
  const applied = commands.filter(({ state }) => state === 'APPLIED');
  const draft = new PolicyDraft(before);
  for (const { command, fields } of applied) draft.run({ command, fields } as DynsecWrite);
  expect(plain(now)).toEqual(plain(draft));
  const made = new Set(
    changes.map((change, place) =>
      change.kind === 'PUT_ROLE' && report.changes[place]?.outcome === 'APPLIED' ? change.roleName : null,
    ),
  );
  for (const [place, { outcome, error }] of report.changes.entries()) {
    const change = changes[place] as AccessChange;
    const isThere = isSo(now, change);
    // What it was about had not come to be, by the changes before it.
    const isVain = error?.code === 'NOT_FOUND' || (change.kind === 'DELETE_ROLE' && !made.has(change.roleName));
    if (isThere === null || isVain) continue;
    expect(isThere, `${outcome} ${JSON.stringify(change)}`).toBe(outcome === 'APPLIED');
  }
  expect(commands.filter(({ state }) => state === 'UNKNOWN')).toEqual([]);
}

/** What became of the commands of one payload. */
function statesOf(report: WriteReport, payload: readonly ControlCall[]): ReadonlySet<CommandState> {
  const keys = new Set(payload.map(keyOf));
  const commands = report.changes.flatMap((change) => change.commands);
  return new Set(commands.filter((command) => keys.has(keyOf(command))).map(({ state }) => state));
}

function expectNothingTwice(payloads: readonly (readonly ControlCall[])[]): void {
  const sent = payloads.flat().map(keyOf);
  expect(new Set(sent).size).toBe(sent.length);
}

/** Reports mask passwords. */
const keyOf = ({ command, fields }: ControlCall): string => JSON.stringify([command, { ...fields, password: null }]);

/** Whether all of a change can be seen; null: a later one leaves nothing of it. */
function isSo({ clients, roles }: AccessPolicy, change: AccessChange): boolean | null {
  const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name);
  switch (change.kind) {
    case 'PUT_ROLE':
      return Number(change.roleName.slice(1)) % 4 === 0 ? null : roles.has(change.roleName);
    case 'PUT_CLIENT': {
      const client = clients.get(change.username);
      if (change.mode === 'UPDATE') return client?.textDescription === change.fields.textDescription;
      return names(client?.roles).includes('common');
    }
    case 'PUT_ROLE_ACL':
      return roles.get(change.roleName)?.acls.some(({ topic }) => topic === change.acl.topic) ?? false;
    case 'ADD_CLIENT_GROUP':
      return names(clients.get(change.username)?.groups).includes(change.group.name);
    case 'DELETE_ROLE':
      return !roles.has(change.roleName);
    default:
      return false;
  }
}

function isWhole(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

/** The file is written in place, and each write causes at least one event. */
function afterWrites(file: string, writes: number, done: () => void): void {
  let seen = 0;
  const watcher = watch(file, () => {
    seen += 1;
    if (seen >= writes) {
      watcher.close();
      done();
    }
  });
  onTestFinished(() => watcher.close());
}
