import { expect, test } from 'vitest';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker, meter, startCommercialBroker } from './graph/commercial-broker.ts';
import { codeOf, DISCONNECT, DISCONNECT_MANY } from './graph/operations.ts';

async function start() {
  const broker = await startCommercialBroker();
  broker.clients.set('m1', meter('m1'));
  const service = await startTestService();
  const brokerId = await addBroker(service, broker.url);
  const at = `/api/projects/${service.projectId}/brokers/${brokerId}/client-control`;
  const put = (path: string, body: unknown, token = service.root) => service.rest('PUT', `${at}${path}`, token, body);
  return { broker, service, brokerId, put };
}

test('disconnect returns 200 with an empty object, subscribe and unsubscribe return 204; an unknown client returns 404', async () => {
  const { broker, put } = await start();
  const subscribed = await put('/subscribe', { clientid: 'm1', topic: 'a/+/b', qos: 0 });
  expect([subscribed.status, subscribed.body]).toEqual([204, undefined]);
  expect((await put('/subscribe', { clientid: 'm1', topic: 'b' })).status).toBe(204);
  const unsubscribed = await put('/unsubscribe', { clientid: 'm1', topic: 'a/+/b' });
  expect([unsubscribed.status, unsubscribed.body]).toEqual([204, undefined]);
  const gone = await put('/disconnect', { clientid: 'm1' });
  expect([gone.status, gone.body]).toEqual([200, {}]);
  expect(broker.commands).toEqual([
    { command: 'subscribeClient', clientid: 'm1', topic: 'a/+/b', qos: 0 },
    { command: 'subscribeClient', clientid: 'm1', topic: 'b', qos: 0 },
    { command: 'unsubscribeClient', clientid: 'm1', topic: 'a/+/b' },
    { command: 'disconnectClient', clientid: 'm1' },
  ]);
  for (const [path, more] of [
    ['/disconnect', {}],
    ['/subscribe', { topic: 'a', qos: 0 }],
    ['/unsubscribe', { topic: 'a' }],
  ] as const) {
    const { status, body } = await put(path, { clientid: 'm1', ...more });
    expect([path, status, body.code]).toEqual([path, 404, 'NOT_FOUND']);
  }
});

test('every documented spelling of the options is accepted, and null counts as absent', async () => {
  const { broker, put } = await start();
  const told = async (options: unknown) => {
    expect((await put('/subscribe', { clientid: 'm1', topic: 'a', qos: 2, options })).status).toBe(204);
    return broker.commands.at(-1)?.options;
  };
  for (const send_retain of ['always', 'new', 'never']) expect(await told({ send_retain })).toEqual({ send_retain });
  expect(await told({ send_retain: 'null' })).toBeUndefined();
  expect(await told({ send_retain: null, no_local: true })).toEqual({ no_local: true });
  expect(await told({})).toBeUndefined();
  expect(await told({ no_local: false, retain_as_published: true })).toEqual({
    no_local: false,
    retain_as_published: true,
  });
});

test('empty texts, unknown keys and wrong values return 400 with their paths, and nothing is sent', async () => {
  const { broker, put } = await start();
  const refused = async (path: string, body: object) => {
    const answer = await put(path, body);
    expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([400, 'INVALID']);
    return answer.body.info.issues.map((issue: { path: string }) => issue.path);
  };
  const valid = { clientid: 'm1', topic: 'a', qos: 0 };
  expect(await refused('/disconnect', { clientid: '' })).toEqual(['/clientid']);
  expect(await refused('/disconnect', {})).toEqual(['/clientid']);
  expect(await refused('/disconnect', { clientid: 'm1', takeover: true })).toEqual(['/takeover']);
  expect(await refused('/disconnect', { clientid: 'a\0b' })).toEqual(['/clientid']);
  expect(await refused('/subscribe', { ...valid, clientid: '' })).toEqual(['/clientid']);
  expect(await refused('/subscribe', { ...valid, topic: '' })).toEqual(['/topic']);
  expect(await refused('/subscribe', { ...valid, topic: 'a/#/b' })).toEqual(['/topic']);
  expect(await refused('/subscribe', { ...valid, topic: '$share/g/a' })).toEqual(['/topic']);
  expect(await refused('/subscribe', { ...valid, qos: null })).toContain('/qos');
  for (const qos of [3, -1]) expect(await refused('/subscribe', { ...valid, qos })).toEqual(['/qos']);
  expect(await refused('/subscribe', { ...valid, options: { send_retain: 'later' } })).toEqual([
    '/options/send_retain',
  ]);
  expect(await refused('/subscribe', { ...valid, options: { noLocal: true } })).toEqual(['/options/noLocal']);
  expect(await refused('/subscribe', { ...valid, retain: true })).toEqual(['/retain']);
  expect(await refused('/unsubscribe', { clientid: '', topic: '' })).toEqual(['/clientid', '/topic']);
  expect(await refused('/unsubscribe', { clientid: 'm1', topic: '$CONTROL/a' })).toEqual(['/topic']);
  expect(broker.commands).toEqual([]);
});

test('a broker without client control returns 405 with the remedy, and an unreachable broker 503', async () => {
  const service = await startTestService();
  const control = async (brokerId: string) => {
    const at = `/api/projects/${service.projectId}/brokers/${brokerId}/client-control`;
    return service.rest('PUT', `${at}/disconnect`, service.root, { clientid: 'm1' });
  };
  const { url } = await startScriptedBroker(() => ['{"error":"endpoint not available"}']);
  const unable = await control(await addBroker(service, url));
  expect([unable.status, unable.body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
  expect(unable.body.info.reason).toContain('log_dest topic');

  const projectUrl = `/api/projects/${service.projectId}/brokers`;
  const down = await service.rest('POST', projectUrl, service.root, { url: 'mqtt://127.0.0.1:9' });
  const answer = await control(down.body.id);
  expect([answer.status, answer.body.code]).toEqual([503, 'BROKER_UNREACHABLE']);
});

test('in a strict project a viewer may do a dry run but disconnect no client, by REST or the graph; an editor may', async () => {
  const { broker, service, brokerId, put } = await start();
  const [viewer, editor] = [await service.person('VIEWER'), await service.person('EDITOR')];
  await service.graphql(
    'mutation ($p: ID!) { updateProject(input: { projectId: $p, hasStrictRoles: true }) { project { id } } }',
    { p: service.projectId },
  );
  const refused = await put('/disconnect', { clientid: 'm1' }, viewer.token);
  expect([refused.status, refused.body.code]).toEqual([403, 'NOT_ALLOWED']);
  expect(codeOf(await service.graphql(DISCONNECT, { input: { brokerId, clientId: 'm1' } }, viewer.token))).toBe(
    'NOT_ALLOWED',
  );
  const many = { brokerId, clientIds: ['m1'] };
  expect(codeOf(await service.graphql(DISCONNECT_MANY, { input: many }, viewer.token))).toBe('NOT_ALLOWED');
  const tried = await service.graphql(DISCONNECT_MANY, { input: { ...many, dryRun: true } }, viewer.token);
  expect(tried.data.disconnectClients.wouldDisconnectCount).toBe(1);
  expect(broker.commands).toEqual([]);
  expect((await put('/disconnect', { clientid: 'm1' }, editor.token)).status).toBe(200);
});
