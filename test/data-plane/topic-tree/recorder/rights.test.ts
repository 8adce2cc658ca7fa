import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { recorded, recorderOf, statusOf, until } from './remote-recorder.ts';

const BOB = { username: 'bob', password: 'builder' } as const;
const ALICE = { username: 'alice', password: 'wonderland' } as const;

/** Commands of dynamic security, each answered before this resolves. */
async function command(admin: MqttClient, ...commands: object[]): Promise<void> {
  const answered = new Promise<{ responses: { error?: string }[] }>((resolve) => {
    admin.once('message', (_topic, payload) => resolve(JSON.parse(payload.toString())));
  });
  await admin.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  for (const { error } of (await answered).responses) expect(error).toBeUndefined();
}

const acl = (acltype: string, topic: string) => ({
  command: 'addRoleACL',
  rolename: 'reader',
  acltype,
  topic,
  allow: true,
});

async function startWithAlice() {
  const broker = await startMosquitto({ access: 'dynsec' });
  const admin = await broker.client();
  await command(
    admin,
    { command: 'createRole', rolename: 'reader' },
    { command: 'createClient', ...ALICE },
    { command: 'addClientRole', username: 'alice', rolename: 'reader' },
    { command: 'createRole', rolename: 'writer' },
    acl('subscribePattern', 'site/#'),
    { command: 'addRoleACL', rolename: 'writer', acltype: 'publishClientSend', topic: '#', allow: true },
    { command: 'createClient', ...BOB },
    { command: 'addClientRole', username: 'bob', rolename: 'writer' },
  );
  return { broker, publisher: await broker.client(BOB), admin };
}

test('a denied filter is named with the missing ACL, allowed filters are recorded, and later changes of ACLs take effect', async () => {
  const { broker, publisher, admin } = await startWithAlice();
  const recorder = await recorderOf({
    url: broker.url,
    ...ALICE,
    settings: { filters: ['#', 'site/#'] },
    durations: { refusedRetryMs: 50 },
  });
  const denied = await statusOf(recorder);
  expect(denied).toMatchObject({ state: 'DENIED', deniedFilters: ['#'] });
  expect(denied.since).not.toBeNull();
  for (const part of ['subscribePattern', 'publishClientReceive', '"#"', '"alice"'])
    expect(denied.reason).toContain(part);
  expect(denied.subscribedReason).toContain('$SYS/broker/log/M/subscribe');
  await publisher.publishAsync('site/1', 'x', { qos: 1 });
  await publisher.publishAsync('other/1', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'site/1' in topics,
  );

  await command(admin, acl('subscribePattern', '#'));
  expect(
    await until(
      () => statusOf(recorder),
      ({ state }) => state === 'RECORDING',
    ),
  ).toMatchObject({
    deniedFilters: [],
    reason: null,
  });
  for (const topic of ['site/1', 'other/1']) await publisher.publishAsync(topic, 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'other/1' in topics,
  );
  expect(await recorded(recorder)).toEqual({ 'site/1': 2, 'other/1': 1 });

  await command(admin, { command: 'removeRoleACL', rolename: 'reader', acltype: 'subscribePattern', topic: '#' });
  await until(
    () => statusOf(recorder),
    ({ state }) => state === 'DENIED',
  );
  await until(
    async () => {
      await publisher.publishAsync('site/2', 'x', { qos: 1 });
      return recorded(recorder);
    },
    (topics) => 'site/2' in topics,
  );
});

test('if all filters are denied, the recording has no start', async () => {
  const { broker } = await startWithAlice();
  const recorder = await recorderOf({ url: broker.url, ...ALICE });
  expect(await statusOf(recorder)).toMatchObject({ state: 'DENIED', deniedFilters: ['#'], since: null, messages: 0 });
  expect(await recorded(recorder)).toEqual({});
});

test('wrong credentials are reported', async () => {
  const { broker } = await startWithAlice();
  const recorder = await recorderOf({ url: broker.url, username: 'alice', password: 'wrong' });
  const { state, reason } = await statusOf(recorder);
  expect(state).toBe('UNREACHABLE');
  expect(reason).toMatch(/user name or password|does not allow this user to connect/);
});

test('an acl_file allows all subscriptions, and only readable messages arrive', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'acl'), 'topic write #\nuser alice\ntopic read site/#\n');
  const broker = await startMosquitto({ lines: [`acl_file ${join(folder, 'acl')}`] });
  const recorder = await recorderOf({ url: broker.url, ...ALICE });
  expect(await statusOf(recorder)).toMatchObject({ state: 'RECORDING' });
  const publisher = await broker.client();
  for (const topic of ['other/1', 'site/1']) await publisher.publishAsync(topic, 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'site/1' in topics,
  );
  expect(await recorded(recorder)).toEqual({ 'site/1': 1 });
});
