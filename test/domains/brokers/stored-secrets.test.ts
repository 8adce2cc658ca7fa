import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { generate, parser } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import type { Viewer } from '../../../src/platform/auth/viewer.ts';
import { createAuthority } from '../../support/certificates.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { runs } from '../../support/suite.ts';

const TLS_HANDSHAKE = 0x16;
const authorities = { own: createAuthority(), other: createAuthority() } as const;
type Authority = keyof typeof authorities;

interface ReceivedConnect {
  readonly password: string | null;
  readonly isTls: boolean;
}

interface Listener {
  readonly port: number;
  readonly connects: ReceivedConnect[];
}

/** A host that accepts every CONNECT, with or without TLS (a certificate of `authority`), and records it. */
async function startListener(authority: Authority): Promise<Listener> {
  const { cert, key } = authorities[authority].issue();
  const secureContext = createSecureContext({ cert, key });
  const connects: ReceivedConnect[] = [];
  const sockets = new Set<Socket>();
  const read = (socket: Socket, isTls: boolean) => {
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        connects.push({ password: packet.password?.toString() ?? null, isTls });
        socket.write(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
      } else if (packet.cmd === 'pingreq') socket.write(generate({ cmd: 'pingresp' }));
    });
    packets.on('error', () => socket.destroy());
    socket.on('data', (data) => packets.parse(data));
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      const isTls = first[0] === TLS_HANDSHAKE;
      read(isTls ? new TLSSocket(socket, { isServer: true, secureContext }) : socket, isTls);
      if (!isTls) socket.resume();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as { port: number }).port, connects };
}

const UPDATE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';

type Change = Readonly<Record<string, unknown>>;

async function update(
  service: TestService,
  brokerId: string,
  change: Change,
  token: string,
): Promise<readonly string[]> {
  const { errors } = await service.graphql(UPDATE, { input: { brokerId, ...change } }, token);
  if (errors) expect(errors).toMatchObject([{ extensions: { code: 'INVALID' } }]);
  const info = errors?.[0]?.extensions.info as { issues: { path: string }[] } | undefined;
  return info?.issues.map(({ path }) => path) ?? [];
}

const OPERATOR: Viewer = {
  kind: 'OPERATOR',
  id: 'test',
  name: 'test',
  credentialId: 'test',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
};

/** Waits until the service has connected to the entry's address, or failed to. Returns whether it is connected. */
async function isReached({ services }: TestService, brokerId: string): Promise<boolean> {
  const broker = services.brokers.visible(brokerId, OPERATOR);
  await services.runtimes.ask(broker, async () => null).catch(() => null);
  return services.runtimes.isConnected(brokerId);
}

interface World {
  readonly service: TestService;
  readonly editor: string;
  readonly home: Listener;
  readonly attacker: Listener;
}

async function startWorld(): Promise<World> {
  const service = await startTestService();
  const [home, attacker] = await Promise.all([startListener('own'), startListener('other')]);
  return { service, editor: (await service.person('EDITOR')).token, home, attacker };
}

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const PERIOD = { issuedTo: 'ACME', productId: 'p-1', periodStart: '2026-01-01T00:00:00.000Z' };

async function addBroker({ service }: World, type: 'SELF_HOSTED' | 'ON_PREMISE_SETUP', input: Change): Promise<string> {
  const product = type === 'ON_PREMISE_SETUP' ? PERIOD : {};
  const fields = { projectId: service.projectId, name: 'b', username: 'u', type, ...product, ...input };
  const { data, errors } = await service.graphql(ADD, { input: fields });
  expect(errors).toBeUndefined();
  return data.addBroker.broker.id;
}

const passwordsAt = ({ connects }: Listener) => connects.map(({ password }) => password);

test('an editor who clears the address of a broker and enters another one does not receive the stored password', async () => {
  const world = await startWorld();
  const { service, editor, home, attacker } = world;
  const { leaf: clientCert, key: clientKey } = authorities.own.issue();
  const url = `mqtt://127.0.0.1:${home.port}`;
  const id = await addBroker(world, 'ON_PREMISE_SETUP', { url, password: 'PlantedSecret-77', clientCert, clientKey });
  expect(await isReached(service, id)).toBe(true);
  expect(passwordsAt(home)).toEqual(['PlantedSecret-77']);

  // A change that leaves the address alone keeps the secret.
  expect(await update(service, id, { username: 'v', name: 'renamed' }, editor)).toEqual([]);
  expect(await isReached(service, id)).toBe(true);
  expect(passwordsAt(home)).toEqual(['PlantedSecret-77', 'PlantedSecret-77']);

  expect(await update(service, id, { url: null }, editor)).toEqual([]);
  expect(await update(service, id, { url: `mqtt://127.0.0.1:${attacker.port}` }, editor)).toEqual([]);
  expect(await isReached(service, id)).toBe(true);
  expect(passwordsAt(attacker)).toEqual([null]);
  const row = await service.storage.db.broker.findUniqueOrThrow({ where: { id } });
  expect([row.sealedPassword, row.sealedClientKey]).toEqual([null, null]);
});

test('a password that was stored without an address must be given again with the first address', async () => {
  const world = await startWorld();
  const { service, editor, attacker } = world;
  const id = await addBroker(world, 'ON_PREMISE_SETUP', { password: 'PlantedSecret-78' });
  const url = `mqtt://127.0.0.1:${attacker.port}`;
  expect(await update(service, id, { url }, editor)).toEqual(['input.password']);
  expect(await update(service, id, { url, password: 'given' }, editor)).toEqual([]);
  expect(await isReached(service, id)).toBe(true);
  expect(passwordsAt(attacker)).toEqual(['given']);
});

test('over WebSocket another path is another address', async () => {
  const world = await startWorld();
  const { service, editor } = world;
  const id = await addBroker(world, 'SELF_HOSTED', { url: 'wss://broker.example.com/one', password: 'secret' });
  const other = { url: 'wss://broker.example.com/other' };
  expect(await update(service, id, other, editor)).toEqual(['input.password']);
  expect(await update(service, id, { url: 'wss://broker.example.com/one' }, editor)).toEqual([]);
  expect(await update(service, id, { ...other, password: null }, editor)).toEqual([]);
});

test('a password that another process stored a moment ago is not sent to another address', async () => {
  const world = await startWorld();
  const { service, editor, home, attacker } = world;
  const id = await addBroker(world, 'SELF_HOSTED', { url: `mqtt://127.0.0.1:${home.port}` });
  // Written without an announcement: this process has not read it.
  await service.storage.db.broker.update({ where: { id }, data: { sealedPassword: 'sealed elsewhere' } });
  const other = { url: `mqtt://127.0.0.1:${attacker.port}` };
  expect(await update(service, id, other, editor)).toEqual(['input.password']);
  expect(await update(service, id, { ...other, password: null }, editor)).toEqual([]);
});

/** What is known of an entry by its updates alone. */
interface Entry {
  url: string | null;
  caCert: Authority | null;
  verifyCaCert: boolean;
  password: string | null;
}

/** A password, and its address: the port, with or without TLS, and whether the certificate was verified. */
interface Grant {
  readonly password: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly trusts: Authority | 'ANY' | null;
}

const authority = fc.constantFrom<Authority | null>('own', 'other', null);
const someChange = fc.record(
  {
    url: fc.constantFrom('mqtt home', 'mqtts home', 'mqtt attacker', 'mqtts attacker', 'none'),
    password: fc.constantFrom('new', 'new', 'none'),
    caCert: authority,
    verifyCaCert: fc.boolean(),
    username: fc.constantFrom('u', 'v'),
    description: fc.constantFrom('one', 'two'),
  },
  { requiredKeys: [] },
);
const step = fc.record({ byEditor: fc.boolean(), change: someChange });
const history = fc.record({
  type: fc.constantFrom('SELF_HOSTED' as const, 'ON_PREMISE_SETUP' as const),
  steps: fc.array(step, { minLength: 2, maxLength: 8 }),
});

test('no order of updates sends a listener a password that was not given for its address', {
  timeout: 120_000,
}, async () => {
  const world = await startWorld();
  const { service, editor, home, attacker } = world;
  const listeners = { home, attacker };
  const grants: Grant[] = [];
  let passwords = 0;

  const urlOf = (text: string | undefined) => {
    if (text === undefined || text === 'none') return text === undefined ? undefined : null;
    const [scheme, whose] = text.split(' ') as ['mqtt' | 'mqtts', keyof typeof listeners];
    return `${scheme}://127.0.0.1:${listeners[whose].port}`;
  };
  const apply = (entry: Entry, input: Change): void => {
    if (input.url === null) entry.password = null;
    Object.assign(entry, input, { caCert: entry.caCert });
    const { url, password, verifyCaCert, caCert } = entry;
    if (typeof input.password !== 'string' || url === null || password === null) return;
    const trusts = verifyCaCert ? caCert : 'ANY';
    grants.push({ password, port: Number(new URL(url).port), isTls: url.startsWith('mqtts:'), trusts });
  };
  const wasGiven = (password: string, { port }: Listener, isTls: boolean, certificate: Authority) =>
    grants.some(
      (grant) =>
        grant.password === password &&
        grant.port === port &&
        grant.isTls === isTls &&
        (!isTls || grant.trusts === 'ANY' || grant.trusts === certificate),
    );
  const expectGrants = () => {
    for (const [listener, certificate] of [
      [home, 'own'],
      [attacker, 'other'],
    ] as const) {
      for (const { password, isTls } of listener.connects) {
        if (password !== null)
          expect([password, wasGiven(password, listener, isTls, certificate)]).toEqual([password, true]);
      }
    }
  };

  await fc.assert(
    fc.asyncProperty(history, async ({ type, steps }) => {
      passwords += 1;
      const entry: Entry = { url: null, caCert: null, verifyCaCert: true, password: null };
      const first = { url: `mqtt://127.0.0.1:${home.port}`, password: `secret-${passwords}` };
      const id = await addBroker(world, type, first);
      apply(entry, first);
      for (const { byEditor, change } of steps) {
        if (type === 'SELF_HOSTED' && change.url === 'none') continue;
        const { url, password, caCert, ...others } = change;
        if (password === 'new') passwords += 1;
        const input: Change = {
          ...others,
          ...(url === undefined ? {} : { url: urlOf(url) }),
          ...(password === undefined ? {} : { password: password === 'new' ? `secret-${passwords}` : null }),
          ...(caCert === undefined ? {} : { caCert: caCert === null ? null : authorities[caCert].leaf }),
        };
        const refused = await update(service, id, input, byEditor ? editor : service.root);
        const isHarmless = url === undefined && caCert === undefined && change.verifyCaCert === undefined;
        if (isHarmless || password !== undefined) expect(refused).toEqual([]);
        if (refused.length > 0) continue;
        if (caCert !== undefined) entry.caCert = caCert;
        apply(entry, input);
        const isConnected = await isReached(service, id);
        expectGrants();
        const listener = [home, attacker].find(({ port }) => entry.url?.endsWith(`:${port}`));
        if (isConnected) expect(listener?.connects.at(-1)?.password).toBe(entry.password);
        else if (entry.url !== null) expect(entry.url).toMatch(/^mqtts:/);
      }
      await service.services.brokers.remove(id);
    }),
    { numRuns: runs(40) },
  );
  // The listeners were sent what was given for them.
  expect(home.connects.some(({ password, isTls }) => password !== null && isTls)).toBe(true);
  expect(attacker.connects.some(({ password, isTls }) => password !== null && !isTls)).toBe(true);
});
