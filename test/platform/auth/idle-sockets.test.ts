import { expect, test } from 'vitest';
import { idleSocket } from '../../support/idle-socket.ts';
import { startTestService } from '../../support/service.ts';
import { RIGHTS_ENDINGS, type World } from './rights-endings.ts';
import { SIGN_IN_ENDINGS } from './sign-in-endings.ts';

// A WebSocket without an operation belongs to its session or token: it closes with it, and with nothing else.

const LOGOUT = 'mutation { logout { isLoggedOut } }';

async function world(): Promise<World> {
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'plant',
    url: 'mqtt://127.0.0.1:1',
  });
  return { ...service, brokerId: body.id };
}

/** A request over the socket, which has a response only if the socket is open. */
const ask = async ({ client }: Awaited<ReturnType<typeof idleSocket>>, query: string) =>
  (await client.iterate({ query }).next()).value;

const endings = Object.entries({ ...RIGHTS_ENDINGS, ...SIGN_IN_ENDINGS });

test('a WebSocket without an operation closes with 4403 when its session or token ends, and others stay open', async () => {
  const service = await world();
  const bystander = await idleSocket(service, (await service.person('VIEWER')).token);
  for (const [what, { holder }] of endings.filter(([, { code }]) => code === 'UNAUTHORIZED')) {
    const { token, end } = await holder(service);
    const socket = await idleSocket(service, token);
    await end();
    expect([what, await socket.closed]).toEqual([what, 4403]);
  }
  expect(await ask(bystander, '{ viewer { kind } }')).toEqual({ data: { viewer: { kind: 'USER' } } });
});

test('a WebSocket without an operation stays open when its caller only loses rights', async () => {
  const service = await world();
  for (const [what, { holder }] of endings.filter(([, { code }]) => code === 'NOT_ALLOWED')) {
    const { token, end } = await holder(service);
    const socket = await idleSocket(service, token);
    await end();
    const { data } = await ask(socket, '{ viewer { kind } }');
    expect([what, typeof data.viewer.kind, socket.isOpen()]).toEqual([what, 'string', true]);
  }
});

test('with a session all of its WebSockets close, and none of another session of the same person', async () => {
  const service = await startTestService();
  const { token, id } = await service.person('VIEWER');
  const other = await service.services.auth.sessions.open(id);
  const sockets = [await idleSocket(service, token), await idleSocket(service, token)];
  const bystander = await idleSocket(service, other.token);
  await service.graphql(LOGOUT, {}, token);
  for (const { closed } of sockets) expect(await closed).toBe(4403);
  expect(await ask(bystander, '{ viewer { kind } }')).toEqual({ data: { viewer: { kind: 'USER' } } });
});

test('a log-out over a WebSocket has its result before the socket closes', async () => {
  const service = await startTestService();
  const { token } = await service.person('VIEWER');
  const socket = await idleSocket(service, token);
  const results = socket.client.iterate({ query: LOGOUT });
  expect(await results.next()).toEqual({ value: { data: { logout: { isLoggedOut: true } } }, done: false });
  expect((await results.next()).done).toBe(true);
  expect(await socket.closed).toBe(4403);
});

test('a WebSocket without an operation does not count as a subscription', async () => {
  const service = await startTestService();
  const { token } = await service.person('VIEWER');
  await idleSocket(service, token);
  expect(service.services.auth.guards.count).toBe(0);
});
