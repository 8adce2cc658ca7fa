import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker, beganTail, messageWorld, refusal } from './message-world.ts';

test('an editor may follow messages, a lesser role may not, and invalid filters are refused with the reason', async () => {
  const world = await messageWorld('Mosquitto');
  const { service, brokerId } = world;
  const { url } = await startMosquitto();
  const otherId = await addBroker(service, url);
  const restricted = async (role: string, id: string) => {
    const { data } = await service.graphql('mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret } }', {
      i: { projectId: service.projectId, name: `${role} ${id}`, role, brokerIds: [id] },
    });
    return data.createToken.secret as string;
  };
  const editor = (await service.person('EDITOR')).token;
  const codeFor = async (token: string) => (await refusal(beganTail(world, 'a', { token }))).code;
  for (const token of [editor, await restricted('EDITOR', brokerId)]) {
    expect((await beganTail(world, 'a', { token })).events).toMatchObject([{ kind: 'SNAPSHOT' }]);
  }
  expect(await codeFor((await service.person('VIEWER')).token)).toBe('NOT_ALLOWED');
  expect(await codeFor(await restricted('VIEWER', brokerId))).toBe('NOT_ALLOWED');
  expect(await codeFor((await service.person(null)).token)).toBe('NOT_FOUND');
  expect(await codeFor(await restricted('EDITOR', otherId))).toBe('NOT_FOUND');

  for (const filter of ['', 'a/#/b', '$share/g/a', '$CONTROL/#', 'a\u0001']) {
    expect(await refusal(beganTail(world, filter))).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'filter', reason: expect.any(String) }] },
    });
  }
  for (const [path, limits] of [
    ['maxRate', { rate: 0 }],
    ['maxRate', { rate: 1_001 }],
    ['maxPayloadBytes', { bytes: -1 }],
    ['maxPayloadBytes', { bytes: 65_537 }],
  ] as const) {
    expect(await refusal(beganTail(world, 'a', limits))).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path }] },
    });
  }
  for (const limits of [
    { rate: 1, bytes: 0 },
    { rate: 1_000, bytes: 65_536 },
  ]) {
    expect((await beganTail(world, 'a', limits)).events).toHaveLength(1);
  }
  // Invalid input is refused even if the broker is unreachable.
  const gone = await service.services.brokers.addSelfHosted(service.projectId, {
    name: 'x',
    url: 'mqtt://127.0.0.1:1',
  });
  const nowhere = { service, brokerId: gone.id };
  expect((await refusal(beganTail(nowhere, '$share/g/a'))).code).toBe('INVALID');
  expect((await refusal(beganTail(nowhere, 'a'))).code).toBe('BROKER_UNREACHABLE');
});

test('a tail ends with the permission for it', async () => {
  const world = await messageWorld('Mosquitto');
  const { service } = world;
  const { token, email } = await service.person('EDITOR');
  const told = await beganTail(world, 'a', { token });
  const other = await beganTail(world, 'a');
  await service.services.projects.setMember(service.projectId, email, 'VIEWER');
  expect((await refusal(told.until(() => false))).code).toBe('NOT_ALLOWED');
  expect(await told.closed).toBe(4403);
  await world.publisher.publishAsync('a', 'on');
  await other.until(() => other.messages().length === 1);
});

test('the error of a filter that the broker refuses, also later, names the missing permissions', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const command = (commands: object[]) =>
    admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const acl = (acltype: string) => ({ acltype, topic: 'a/#', allow: true });
  await command([
    { command: 'createRole', rolename: 'reader', acls: [acl('subscribePattern')] },
    { command: 'createRole', rolename: 'writer', acls: [acl('publishClientSend')] },
    { command: 'createClient', username: 'u', password: 'p', roles: [{ rolename: 'reader' }] },
    { command: 'createClient', username: 'w', password: 'p', roles: [{ rolename: 'writer' }] },
  ]);
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, { username: 'u', password: 'p' });
  const world = { service, brokerId };
  const missing = { code: 'NOT_ALLOWED', info: { missing: ['subscribePattern', 'publishClientReceive'] } };
  expect(await refusal(beganTail(world, 'b'))).toMatchObject({ ...missing, message: expect.stringContaining('"b"') });
  const told = await beganTail(world, 'a/+');
  const writer = await mosquitto.client({ username: 'w', password: 'p' });
  await writer.publishAsync('a/b', '1');
  await told.until(() => told.messages().length === 1);
  await command([{ command: 'removeClientRole', username: 'u', rolename: 'reader' }]);
  expect(await refusal(told.until(() => false))).toMatchObject({
    ...missing,
    message: expect.stringContaining('"a/+"'),
  });
});
