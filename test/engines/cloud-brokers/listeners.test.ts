import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { brokerOf, connected, create, ENGINES, setTargetState } from './cloud-world.ts';

const world = shared(() => startTestService({ embeddedBroker: true }));

/** Calls a mutation of a listener. Returns the reason of a refusal; `null` if there is none. */
async function change(service: TestService, name: string, input: object, token?: string): Promise<unknown> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const mutation = `mutation ($input: ${type}!) { ${name}(input: $input) { broker { id } } }`;
  const { errors } = await service.graphql(mutation, { input }, token);
  const [error] = errors ?? [];
  return error === undefined
    ? null
    : ((error.extensions.info as { issues?: unknown })?.issues ?? error.extensions.code);
}

const portsOf = async ({ storage: { db } }: TestService, brokerId: string): Promise<number[]> =>
  (await db.brokerListener.findMany({ where: { brokerId }, orderBy: { number: 'asc' } })).map(({ port }) => port);

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

async function occupy(port: number): Promise<() => void> {
  const program = createServer().listen(port, '127.0.0.1');
  await once(program, 'listening');
  onTestFinished(() => void program.close());
  return () => void program.close();
}

test.for(ENGINES)(
  'a busy port of %s is an error with its holder, and the broker gets its port back',
  async (engine) => {
    const service = await world();
    const id = await create(service, { engine });
    await connected(id, service);
    const [port = 0] = await portsOf(service, id);
    const [first = 0, last = 0] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
      .split(/\s+/)
      .map(Number);
    expect(port < first || port > last).toBe(true);
    await setTargetState(service, id, 'INACTIVE');
    await expect.poll(() => brokerOf(service, id)).toMatchObject({ state: 'INACTIVE' });
    const release = await occupy(port);
    await setTargetState(service, id, 'ACTIVE');
    const problem = expect.stringMatching(`port ${port} is in use by .+ \\(process ${process.pid}\\)$`);
    await expect.poll(() => brokerOf(service, id)).toMatchObject({ state: 'ERROR', problem });
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('brokergraph_cloud_brokers{state="error"} 1');
    expect(await portsOf(service, id)).toEqual([port]);
    release();
    await connected(id, service);
    expect(await portsOf(service, id)).toEqual([port]);
  },
);

test.for(ENGINES)('listeners of %s are added, moved and removed on purpose', async (engine) => {
  const service = await world();
  const brokerId = await create(service, { engine });
  await connected(brokerId, service);
  const [first = 0] = await portsOf(service, brokerId);
  const listener = { protocol: 'WEBSOCKET', port: 0 };
  expect(await change(service, 'removeListener', { brokerId, number: 1 })).toEqual([
    { path: 'input.number', reason: 'is the last listener of the broker' },
  ]);
  expect(await change(service, 'addListener', { brokerId, listener })).toBeNull();
  await expect.poll(() => portsOf(service, brokerId)).toEqual([first, expect.toSatisfy((port) => port > 0)]);
  await connected(brokerId, service);
  const [, second = 0] = await portsOf(service, brokerId);
  expect(await isOpen(second)).toBe(true);

  expect(await change(service, 'updateListener', { brokerId, number: 1, port: second })).toEqual([
    { path: 'input.port', reason: 'is that of another listener of the broker' },
  ]);
  expect(await change(service, 'updateListener', { brokerId, number: 3, port: 0 })).toEqual([
    { path: 'input.number', reason: 'is no listener of the broker: it has 1, 2' },
  ]);
  const needsTls = { protocol: 'MQTT', port: 0, requiresCertificate: true };
  expect(await change(service, 'addListener', { brokerId, listener: needsTls })).toEqual([
    { path: 'input.requiresCertificate', reason: 'needs hasTls: true' },
  ]);
  const admin = await service.person('ADMIN');
  const editor = await service.person('EDITOR');
  const privileged = { brokerId, number: 1, port: 80 };
  expect(await change(service, 'updateListener', privileged, admin.token)).toMatchObject([{ path: 'input.port' }]);
  const move = { brokerId, number: 1, port: 0 };
  expect(await change(service, 'updateListener', move, editor.token)).toBe('NOT_ALLOWED');
  expect(await change(service, 'updateListener', move, admin.token)).toBeNull();
  await expect
    .poll(() => portsOf(service, brokerId))
    .toEqual([expect.toSatisfy((port) => port > 0 && port !== first), second]);
  await connected(brokerId, service);
  const [moved] = await portsOf(service, brokerId);
  expect((await brokerOf(service, brokerId)).url).toBe(`mqtt://127.0.0.1:${moved}`);
  expect(await change(service, 'removeListener', { brokerId, number: 2 }, admin.token)).toBeNull();
  await expect.poll(() => isOpen(second)).toBe(false);
  await connected(brokerId, service);
  expect(await portsOf(service, brokerId)).toEqual([moved]);
});
