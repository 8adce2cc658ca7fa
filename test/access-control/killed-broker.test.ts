import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AccessChange } from '../../src/access-control/access-change.ts';
import type { DynsecWrite } from '../../src/access-control/dynsec-writes.ts';
import { PolicyDraft } from '../../src/access-control/policy-draft.ts';
import { ADMIN, startMosquitto } from '../support/mosquitto.ts';
import { at, openWriting, plain } from './written-access.ts';

/** Two hundred changes: accounts with roles and passwords, rules, roles deleted, what is independent and what is not. */
function manyChanges(): AccessChange[] {
  return Array.from({ length: 40 }, (_, number): AccessChange[] => [
    { kind: 'PUT_ROLE', rolename: `r${number}`, mode: 'CREATE', fields: { textName: `role ${number}` } },
    {
      kind: 'PUT_CLIENT',
      username: `c${number}`,
      mode: 'CREATE',
      fields: { password: 'secret', roles: [at(`r${number}`), at('common', number)] },
    },
    {
      kind: 'PUT_ROLE_ACL',
      rolename: 'common',
      acl: { aclType: 'publishClientSend', topic: `t/${number}`, priority: number, allow: true },
    },
    { kind: 'ADD_CLIENT_GROUP', username: `c${number}`, group: at('all', number) },
    number % 4 === 0
      ? { kind: 'DELETE_ROLE', rolename: `r${number}` }
      : { kind: 'PUT_CLIENT', username: `c${number}`, mode: 'UPDATE', fields: { textDescription: `client ${number}` } },
  ]).flat();
}

const PREPARED: readonly AccessChange[] = [
  { kind: 'PUT_ROLE', rolename: 'common', mode: 'CREATE', fields: {} },
  { kind: 'PUT_GROUP', groupname: 'all', mode: 'CREATE', fields: {} },
];

/**
 * The broker with a long file, so that one payload takes it a while: 2.0 writes its whole file for each command. Its account of
 * an administrator is ADMIN.
 */
async function startSlowly() {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-killed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'dynsec.json');
  execFileSync('mosquitto_ctrl', ['dynsec', 'init', file, ADMIN.username, ADMIN.password], { stdio: 'ignore' });
  const content = JSON.parse(readFileSync(file, 'utf8'));
  for (let number = 0; number < 2_000; number += 1) content.roles.push({ rolename: `many ${number}`, acls: [] });
  writeFileSync(file, JSON.stringify(content));
  const broker = await startMosquitto({
    lines: [
      'plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so',
      `plugin_opt_config_file ${file}`,
      'allow_anonymous false',
    ],
  });
  return { broker, file };
}

/** At once when the payload is sent, or when the broker has written its file so often since. */
const KILLS = [1, 9, 21].flatMap((payload) => [0, 2, 5, 10].map((writes) => ({ payload, writes })));

test.each(KILLS)(
  'Mosquitto killed with payload $payload of 200 changes, after $writes writes of its file',
  async ({ payload, writes }) => {
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
    const { apply, index, fresh, payloads } = await openWriting(broker.url, {
      readBackMs: 2_500,
      onPayload: (count) => {
        if (count - first !== payload) return;
        if (writes === 0) kill();
        else afterWrites(file, writes, kill);
      },
    });
    await apply(...PREPARED);
    const { policy } = await index.current();
    const changes = manyChanges();
    expect(changes).toHaveLength(200);
    first = payloads.length;

    const report = await apply(...changes);

    const commands = report.changes.flatMap((change) => change.commands);
    expect(isBack).not.toBeNull();
    if (!(await isBack)) {
      expect(report.outcome).toBe('UNKNOWN');
      expect(commands.at(-1)?.state).toBe('NOT_SENT');
      return;
    }
    const applied = commands.filter(({ state }) => state === 'APPLIED');
    const draft = new PolicyDraft(policy);
    for (const { command, fields } of applied) draft.run({ command, fields } as DynsecWrite);
    expect(plain(await fresh())).toEqual(plain(draft));
    expect(applied.length).toBeGreaterThan(100);
    expect(commands.filter(({ state }) => state === 'UNKNOWN')).toEqual([]);
    // Nothing is sent twice.
    const sent = payloads
      .slice(first)
      .flat()
      .map(({ command, fields }) => JSON.stringify([command, fields]));
    expect(new Set(sent).size).toBe(sent.length);
  },
);

function isWhole(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

/** The file is written in place, and each time tells at least once. */
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
