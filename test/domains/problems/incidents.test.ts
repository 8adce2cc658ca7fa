import { execFileSync } from 'node:child_process';
import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker } from '../messages/message-world.ts';
import { closed, closedAfter, LASTING_MS, openedAfter, problemsOf, SLOW } from './problem-world.ts';

const WRONG = { username: ADMIN.username, password: 'wrong' };

const every = (ms: number, work: () => void) => {
  const timer = setInterval(work, ms);
  return () => clearInterval(timer);
};

test('wrong passwords, two clients with one id and withdrawn rights each open the right problem, which closes afterwards', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, ADMIN);

  const attempt = () =>
    void connectAsync(mosquitto.url, { username: 'ghost', password: 'no', reconnectPeriod: 0 }, false).catch(
      () => undefined,
    );
  const attemptedAt = Date.now();
  const stopAttempts = every(200, attempt);
  const refused = await openedAfter(service, 'REFUSALS_RISING', { causedAt: attemptedAt, withinMs: LASTING_MS });
  expect(refused).toMatchObject({ subjectId: brokerId, severity: 'WARNING', broker: { id: brokerId } });
  expect(refused.detail).toMatch(/denied attempts in the last 10 s: \d+/);
  expect(refused.whatWouldHelp).toContain('Check that the account exists');
  stopAttempts();
  const stoppedAt = Date.now();

  const twinAt = Date.now();
  const fighter = () => mosquitto.client({ clientId: 'twin', reconnectPeriod: 500 });
  const twins = [await fighter(), await fighter()];
  const conflict = await openedAfter(service, 'CLIENT_ID_CONFLICT', { causedAt: twinAt });
  expect(conflict).toMatchObject({ subjectName: 'twin' });
  expect(conflict.whatWouldHelp).toContain('another client id');
  for (const twin of twins) await twin.endAsync(true);
  await closedAfter(service, 'CLIENT_ID_CONFLICT', Date.now());
  await closedAfter(service, 'REFUSALS_RISING', stoppedAt);

  // Not by mosquitto_ctrl: Mosquitto 2.0 disconnects it with all clients of its account, and it waits ten seconds.
  const control = async (...commands: readonly object[]) => {
    const operator = await mosquitto.client();
    await operator.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  };
  const acls = [{ acltype: 'subscribePattern', topic: '$SYS/#', allow: false, priority: 10 }];
  const role = { rolename: 'blind', priority: 10 };
  const blindAt = Date.now();
  await control(
    { command: 'createRole', ...role, acls },
    { command: 'addClientRole', ...role, username: ADMIN.username },
  );
  const missing = () => problemsOf(service, { kinds: ['BROKER_RIGHTS_MISSING'] });
  await expect.poll(async () => (await missing()).map(({ detail }) => detail).join(), SLOW).toContain('$SYS/');
  const rights = await openedAfter(service, 'BROKER_RIGHTS_MISSING', { causedAt: blindAt, withinMs: LASTING_MS });
  expect(rights).toMatchObject({ subjectId: brokerId, severity: 'WARNING' });
  const repairedAt = Date.now();
  await control({ command: 'deleteRole', ...role });
  await closedAfter(service, 'BROKER_RIGHTS_MISSING', repairedAt);
});

test('the commands of a problem about missing rights grant them, and it closes', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  // As an operator who pastes the lines into a shell, with the address and the administrator of the broker.
  const run = (commands: string) => {
    const { username, password } = ADMIN;
    const ctrl = `mosquitto_ctrl() { command mosquitto_ctrl -p ${mosquitto.port} -u ${username} -P '${password}' "$@"; }`;
    execFileSync('bash', ['-c', `${ctrl}\n${commands}`], { stdio: 'pipe' });
  };
  const user = { username: "gate 'way'", password: 'secret' };
  const operator = await mosquitto.client();
  const acls = [{ acltype: 'subscribePattern', topic: '#', allow: false, priority: 10 }];
  const commands = [
    { command: 'createRole', rolename: 'blind', acls },
    { command: 'createClient', ...user, roles: [{ rolename: 'blind', priority: 10 }] },
  ];
  await operator.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  const service = await startTestService();
  await addBroker(service, mosquitto.url, user);

  const missing = () => problemsOf(service, { kinds: ['BROKER_RIGHTS_MISSING'] });
  const partsOf = async () => (await missing()).map(({ detail }) => detail.split(':')[0]).sort();
  await expect.poll(partsOf, SLOW).toEqual(['$SYS', 'cedalo/inspect', 'dynamic-security']);
  for (const { whatWouldHelp } of await missing()) {
    const lines = whatWouldHelp.split('\n').filter((line: string) => line.startsWith('mosquitto_ctrl dynsec '));
    expect(lines.at(-1)).toBe(`mosquitto_ctrl dynsec addClientRole 'gate '\\''way'\\''' brokergraph 1000`);
    run(lines.join('\n'));
  }
  await closed(service, 'BROKER_RIGHTS_MISSING');
});

test('refused credentials, a log that is not published and clients from before each open a problem, which closes afterwards', async () => {
  const [mosquitto, silent] = await Promise.all([
    startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG }),
    startMosquitto(),
  ]);
  const early = await mosquitto.client({ clientId: 'early' });
  const service = await startTestService();
  const followedAt = Date.now();
  const followedId = await addBroker(service, mosquitto.url, ADMIN);
  const path = `/api/projects/${service.projectId}/brokers`;
  const wrongAt = Date.now();
  const { body } = await service.rest('POST', path, service.root, { name: 'r', url: mosquitto.url, ...WRONG });
  const relay = await startRelay(silent.port);
  const silentAt = Date.now();
  const silentId = await addBroker(service, relay.url);

  const refused = await openedAfter(service, 'BROKER_UNAUTHORIZED', { causedAt: wrongAt });
  expect(refused).toMatchObject({ subjectId: body.id, severity: 'CRITICAL', broker: { id: body.id } });
  expect(refused.whatWouldHelp).toContain('Correct the user name and the password');
  await service.rest('PUT', `${path}/${body.id}`, service.root, ADMIN);
  await closedAfter(service, 'BROKER_UNAUTHORIZED', Date.now());

  const missing = await openedAfter(service, 'CAPABILITY_MISSING', { causedAt: silentAt, withinMs: LASTING_MS });
  expect(missing).toMatchObject({ subjectId: silentId, severity: 'NOTICE' });
  expect(missing.whatWouldHelp).toContain('log_dest topic');
  relay.stop();
  await startRelay(mosquitto.port, { at: Number(new URL(relay.url).port) });
  await service.rest('PUT', `${path}/${silentId}`, service.root, ADMIN);
  await closedAfter(service, 'CAPABILITY_MISSING', Date.now());

  const ofFollowed = { causedAt: followedAt, withinMs: LASTING_MS, brokerIds: [followedId] };
  const incomplete = await openedAfter(service, 'LIST_INCOMPLETE', ofFollowed);
  expect(incomplete.whatWouldHelp).toContain('connect again');
  const repairedAt = Date.now();
  await early.endAsync();
  await service.rest('DELETE', `${path}/${body.id}`);
  await service.rest('DELETE', `${path}/${silentId}`);
  await closedAfter(service, 'LIST_INCOMPLETE', repairedAt);
});

test('a certificate of three days and a token of two open problems, and none is left when they are gone', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const days = (count: number) => new Date(Date.now() + count * 86_400_000 + 3_600_000);
  const cert = createAuthority({ name: 'Plant', to: days(3) }).cert;
  const path = `/api/projects/${projectId}/certificates`;
  const uploadedAt = Date.now();
  const uploaded = await service.rest('POST', path, service.root, { name: 'plant', filename: 'plant.pem', cert });
  expect(uploaded.status).toBe(200);
  const certificate = await openedAfter(service, 'CERTIFICATE_EXPIRING', { causedAt: uploadedAt });
  expect(certificate).toMatchObject({
    severity: 'WARNING',
    subject: { __typename: 'Certificate' },
    project: { id: projectId },
    broker: null,
    detail: 'The certificate "plant" expires in 3 days. It is not deployed.',
  });
  const create = 'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { id } } }';
  const input = { projectId, name: 'robot', role: 'VIEWER', validUntil: days(2).toISOString() };
  const createdAt = Date.now();
  const { data } = await service.graphql(create, { input });
  expect(await openedAfter(service, 'TOKEN_EXPIRING', { causedAt: createdAt })).toMatchObject({
    subjectId: data.createToken.token.id,
    detail: 'The token "robot" expires in 2 days.',
  });
  // Programs stop working when a token expires.
  const { db } = service.storage;
  const row = await db.projectToken.findUniqueOrThrow({ where: { id: data.createToken.token.id } });
  await db.projectToken.create({
    data: { ...row, id: 'tok_old', name: 'old', tokenHash: 'old', validUntil: days(-2) },
  });
  const expired = async () => (await problemsOf(service, { kinds: ['TOKEN_EXPIRING'] })).map(({ detail }) => detail);
  await expect.poll(expired, SLOW).toContain('The token "old" has expired.');
  await db.projectToken.delete({ where: { id: 'tok_old' } });

  const deletedAt = Date.now();
  await service.rest('DELETE', `${path}/${certificate.subjectId}`);
  const revoke = 'mutation ($input: RevokeTokenInput!) { revokeToken(input: $input) { __typename } }';
  await service.graphql(revoke, { input: { tokenId: data.createToken.token.id } });
  for (const kind of ['CERTIFICATE_EXPIRING', 'TOKEN_EXPIRING']) await closedAfter(service, kind, deletedAt);
});
