import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { temporaryFolder } from '../../support/database.ts';
import { startClient, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker } from './message-world.ts';
import { deleteRetained, publish, retain, retained } from './retained-world.ts';

test('the retained messages of a broker without $SYS are listed and deleted', async () => {
  const { url } = await startScriptedBroker(() => []);
  const service = await startTestService();
  const world = { service, brokerId: await addBroker(service, url) };
  await publish(world, { topic: 'a/b', payload: { text: 'x' }, retain: true });
  await retain(await startClient(url), ['a/c', 'd'], 'y');
  expect(await retained(world, { f: 'a/#' })).toMatchObject({
    totalCount: 2,
    completeness: 'COMPLETE',
    nodes: [
      { topic: 'a/b', payload: 'x', qos: 1, expiresAt: null },
      { topic: 'a/c', payload: 'y' },
    ],
  });
  expect(await deleteRetained(world, { filter: 'a/#' })).toMatchObject({ deletedCount: 2, isComplete: true });
  expect(await retained(world)).toMatchObject({ totalCount: 1, nodes: [{ topic: 'd' }] });
});

test('a broker with TLS and an ACL file: refusals name no rule, because the service cannot read it', async () => {
  const file = join(temporaryFolder(), 'acl');
  writeFileSync(file, 'topic readwrite open/#\ntopic read #\ntopic read $SYS/#\nuser device\ntopic readwrite #\n');
  const mosquitto = await startMosquitto({ tls: 'server', lines: [`acl_file ${file}`] });
  const ca = mosquitto.certificates?.ca ?? '';
  const service = await startTestService();
  const world = { service, brokerId: await addBroker(service, mosquitto.url, { ca_cert: ca }) };
  const device = await mosquitto.client({ ca, username: 'device' });
  await retain(device, ['closed/a', 'open/a'], 'x');
  const decision = { decision: null, whatWouldHelp: expect.stringContaining('permission of the broker') };
  expect(await publish(world, { topic: 'closed/a', payload: { text: 'x' } })).toMatchObject({
    code: 'NOT_ALLOWED',
    info: { ...decision, reasonCode: 135, username: null, topic: 'closed/a' },
  });
  expect(await publish(world, { topic: 'open/b', payload: { text: 'x' } })).toMatchObject({ reasonCode: 16 });
  const report = await deleteRetained(world, { filter: '#' });
  expect(report).toMatchObject({ state: 'DONE', total: 2, deletedCount: 1, refusedCount: 1, isComplete: true });
  expect(report.results).toMatchObject([
    { topic: 'closed/a', status: 'REFUSED', error: { code: 'NOT_ALLOWED', info: decision } },
    { topic: 'open/a', status: 'DELETED', error: null },
  ]);
});
