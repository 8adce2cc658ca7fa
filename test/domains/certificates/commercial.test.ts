import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';
import { certificateWorld } from './certificate-world.ts';
import { startCommercialCertificates } from './commercial-certificates.ts';

const root = createAuthority({ name: 'Factory' });
const server = root.issue({ name: 'broker' });

describe('client authorities on a commercial broker', () => {
  test('when one of three listeners fails, the result, the stored state and the broker agree', async () => {
    const broker = await startCommercialCertificates();
    const world = await certificateWorld();
    const brokerId = await world.addBroker(broker.url);
    const id = await world.store('factory.pem', root.cert);
    broker.instead = ({ listener_id }) => (listener_id === 3 ? 'Disk full' : null);

    const listeners = [{ port: 8883 }, { port: 8884 }, { port: 8885, bindAddress: '10.0.0.2' }];
    const results = await world.deploy(id, [{ brokerId, listeners }]);

    expect(results).toEqual([
      {
        brokerId,
        error: null,
        succeed: [
          { port: 8883, bindAddress: null },
          { port: 8885, bindAddress: '10.0.0.2' },
        ],
        failed: [
          {
            port: 8884,
            bindAddress: null,
            error: 'Disk full: "factory.pem"',
            code: 'BROKER_REJECTED',
            isUnknown: false,
          },
        ],
      },
    ]);
    expect(await world.deployments(id)).toEqual(['8883 0.0.0.0', '8885 10.0.0.2']);
    expect([...broker.files]).toEqual([
      ['2/factory.pem', root.cert],
      ['5/factory.pem', root.cert],
    ]);
    // A certificate can be changed and deleted only when it is deployed nowhere.
    expect(await world.refused('updateCertificate', { certificateId: id, name: 'x' })).toMatchObject({
      message: '"factory.pem" is deployed on "plant" (port 8883), "plant" (port 8885): undeploy it first',
      extensions: { code: 'IN_USE', info: { brokers: [brokerId] } },
    });
    expect((await world.refused('deleteCertificate', { certificateId: id })).extensions.code).toBe('IN_USE');
    expect((await world.undeploy(id, [{ brokerId, listeners }]))[0]).toMatchObject({
      error: null,
      succeed: listeners.filter(({ port }) => port !== 8884).map((one) => ({ bindAddress: null, ...one })),
      failed: [{ port: 8884, error: 'Disk full: "factory.pem"' }],
    });
    expect(broker.files.size).toBe(0);
    expect(await world.deployments(id)).toEqual([]);
    await world.change('deleteCertificate', { certificateId: id }, 'deletedCertificateId');
  });

  test('a certificate is deployed again, also on a broker that lost its files, and undeployed where it is missing', async () => {
    const broker = await startCommercialCertificates();
    const world = await certificateWorld();
    const target = [{ brokerId: await world.addBroker(broker.url), listeners: [{ port: 8883 }] }];
    const id = await world.store('factory.pem', root.cert);
    const isDone = async (results: Promise<readonly { readonly failed: readonly unknown[] }[]>) =>
      (await results)[0]?.failed.length === 0;

    expect(await isDone(world.deploy(id, target))).toBe(true);
    expect(await isDone(world.deploy(id, target))).toBe(true);
    broker.files.clear();
    expect(await isDone(world.deploy(id, target))).toBe(true);
    expect(broker.files.size).toBe(1);
    broker.files.clear();
    expect(await isDone(world.undeploy(id, target))).toBe(true);
    expect(await isDone(world.undeploy(id, target))).toBe(true);
    expect(await world.deployments(id)).toEqual([]);

    // A file that another client stored is not treated as the certificate.
    broker.files.set('2/factory.pem', 'else');
    expect((await world.deploy(id, target))[0]?.failed).toMatchObject([
      { code: 'ALREADY_EXISTS', error: expect.stringContaining('another file "factory.pem"') },
    ]);
    expect(await world.deployments(id)).toEqual([]);
    await world.change('updateCertificate', { certificateId: id, filename: 'ours.pem' }, 'certificate { id }');
    expect(await isDone(world.deploy(id, target))).toBe(true);
  });

  test('unknown and ambiguous listeners and listeners without TLS are refused', async () => {
    const broker = await startCommercialCertificates();
    const world = await certificateWorld();
    const brokerId = await world.addBroker(broker.url);
    const id = await world.store('factory.pem', root.cert);
    const listeners = [
      { port: 9 },
      { port: 1883 },
      { port: 8885 },
      { port: 8883, bindAddress: '10.9.9.9' },
      { port: 8884, bindAddress: '::' },
    ];
    const [result] = await world.deploy(id, [{ brokerId, listeners }]);
    expect(result?.error).toBeNull();
    expect(result?.succeed).toEqual([{ port: 8884, bindAddress: '::' }]);
    expect(result?.failed.map(({ code, error }) => `${code} ${error}`)).toEqual([
      'NOT_FOUND The broker has no listener on port 9: it listens on 1883, 0.0.0.0:8883 (TLS), 8884 (TLS), 10.0.0.1:8885 (TLS), 10.0.0.2:8885 (TLS)',
      'BROKER_REJECTED TLS is not enabled on the listener of port 1883',
      'INVALID Several listeners have port 8885, 10.0.0.1:8885 (TLS), 10.0.0.2:8885 (TLS): set bindAddress',
      expect.stringMatching(/^NOT_FOUND The broker has no listener on port 8883 of 10\.9\.9\.9/),
    ]);
    expect(broker.commands.filter(({ command }) => command === 'insertCACertificate')).toHaveLength(1);
  });

  test('the listeners of Mosquitto 2.1 are what they are: the HTTP interface, Unix domain sockets, unknown protocols', async () => {
    const listeners = [
      { port: 1883, protocol: 'mqtt', 'bind-address': '127.0.0.1', tls: false },
      { port: 9001, protocol: 'mqtt+websockets', 'bind-address': '127.0.0.1', tls: false },
      { port: 9003, 'bind-address': '127.0.0.1', tls: false },
      { port: 0, protocol: 'mqtt', 'socket-path': '/run/mosquitto.sock', tls: false },
      { port: 9004, protocol: 'mqtt-quic', tls: true },
      { port: 0, protocol: 'mqtt', tls: false },
      { port: 1884, protocol: 'mqtt', 'socket-path': '/run/other.sock', tls: false },
    ];
    const broker = await startCommercialCertificates({ listeners });
    const world = await certificateWorld();
    const brokerId = await world.addBroker(broker.url);
    const fields = 'port bindAddress socketPath protocol';
    const query = `query ($b: ID!) { broker(id: $b) { listeners { id ${fields} } } }`;
    const listed = (await world.service.graphql(query, { b: brokerId })).data.broker.listeners;
    const bindAddress = '127.0.0.1';
    expect(listed).toMatchObject([
      { port: 1883, bindAddress, socketPath: null, protocol: 'MQTT' },
      { port: 9001, bindAddress, socketPath: null, protocol: 'WEBSOCKET' },
      { port: 9003, bindAddress, socketPath: null, protocol: 'HTTP_API' },
      { port: 0, bindAddress: null, socketPath: '/run/mosquitto.sock', protocol: 'MQTT' },
      { port: 9004, bindAddress: null, socketPath: null, protocol: null },
    ]);
    const node = `query ($id: ID!) { node(id: $id) { ... on BrokerListener { ${fields} } } }`;
    const { id, ...socket } = listed[3];
    expect((await world.service.graphql(node, { id })).data.node).toEqual(socket);
  });

  test('invalid listeners are left out, and error messages name only some of many listeners', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => ({ id: index, port: 10_000 + index, tls: true }));
    const odd = [
      { id: 1e300, port: 9_000, tls: true },
      { id: -1, port: 9_001, tls: true },
      { id: 1.5, port: 9_002, tls: 'yes' },
      { id: 1, port: 1.5 },
      { id: 1, port: 65_536 },
      { id: 1, port: -1 },
    ];
    const broker = await startCommercialCertificates({ listeners: [...odd, ...many] });
    const world = await certificateWorld();
    const brokerId = await world.addBroker(broker.url);
    const query = 'query ($b: ID!) { broker(id: $b) { listeners { number port hasTls } } }';
    const { listeners } = (await world.service.graphql(query, { b: brokerId })).data.broker;
    expect(listeners.slice(0, 4)).toEqual([
      { number: null, port: 9_000, hasTls: true },
      { number: null, port: 9_001, hasTls: true },
      { number: null, port: 9_002, hasTls: false },
      { number: 0, port: 10_000, hasTls: true },
    ]);
    expect(listeners.length).toBeLessThan(2_000);
    const id = await world.store('factory.pem', root.cert);
    const [result] = await world.deploy(id, [{ brokerId, listeners: [{ port: 9 }, { port: 9_000 }] }]);
    expect(result?.failed[0]?.error.length).toBeLessThan(1_000);
    expect(result?.failed[1]?.code).toBe('NOT_SUPPORTED_BY_BROKER');
  });

  test('a lost response is reported as unknown, and the certificate cannot change until the result is known', async () => {
    const broker = await startCommercialCertificates();
    const world = await certificateWorld({ env: { BROKER_TIMEOUT_MS: '2000' } });
    const target = [{ brokerId: await world.addBroker(broker.url), listeners: [{ port: 8883 }, { port: 8884 }] }];
    const id = await world.store('factory.pem', root.cert);
    broker.instead = ({ command }) => (command === 'insertCACertificate' ? 'SILENT' : null);

    const [result] = await world.deploy(id, target);
    expect(result?.failed).toMatchObject([
      { port: 8883, isUnknown: true, code: 'BROKER_TIMEOUT', error: expect.stringContaining('unknown whether') },
      { port: 8884, isUnknown: false, error: expect.stringContaining('Not tried') },
    ]);
    expect(await world.deployments(id)).toEqual([]);
    expect((await world.refused('updateCertificate', { certificateId: id, name: 'x' })).message).toContain(
      'the result is not known yet',
    );
    expect((await world.refused('deleteCertificate', { certificateId: id })).extensions.code).toBe('IN_USE');

    broker.instead = () => null;
    expect((await world.deploy(id, target))[0]?.failed).toEqual([]);
    expect(await world.deployments(id)).toEqual(['8883 0.0.0.0', '8884']);

    broker.instead = ({ command }) => (command === 'deleteCACertificate' ? 'SILENT' : null);
    expect((await world.undeploy(id, target))[0]?.failed[0]).toMatchObject({ isUnknown: true });
    expect(await world.deployments(id)).toEqual(['8884']);
    broker.instead = () => null;
    expect((await world.undeploy(id, target))[0]?.failed).toEqual([]);
    await world.change('deleteCertificate', { certificateId: id }, 'deletedCertificateId');
  });

  test('a certificate on a removed listener is undeployed', async () => {
    const listeners = [{ id: 2, port: 8883, protocol: 'mqtt', tls: true }];
    const broker = await startCommercialCertificates({ listeners });
    const world = await certificateWorld();
    const target = [{ brokerId: await world.addBroker(broker.url), listeners: [{ port: 8883 }] }];
    const id = await world.store('factory.pem', root.cert);
    await world.deploy(id, target);
    listeners.length = 0;
    expect((await world.deploy(id, target))[0]?.failed[0]?.error).toBe('The broker has no listener on port 8883');
    expect(await world.deployments(id)).toEqual(['8883']);
    expect((await world.undeploy(id, target))[0]?.failed).toEqual([]);
    expect(await world.deployments(id)).toEqual([]);
    expect((await world.undeploy(id, target))[0]?.failed).toMatchObject([{ code: 'NOT_FOUND' }]);
  });
});

test('several brokers have separate results, in the order of the request', async () => {
  const [first, second] = [await startCommercialCertificates(), await startCommercialCertificates()];
  const world = await certificateWorld();
  const ids = [await world.addBroker(first.url), await world.addBroker(second.url)];
  const away = await world.addBroker('mqtt://127.0.0.1:9');
  const plain = await world.addBroker((await startMosquitto()).url);
  const id = await world.store('factory.pem', root.cert);
  const listeners = [{ port: 8883 }];
  const asked = [ids[1] ?? '', away, 'brk_nobody', plain, ids[0] ?? ''];
  const results = await world.deploy(
    id,
    asked.map((brokerId) => ({ brokerId, listeners })),
  );
  expect(results.map(({ brokerId }) => brokerId)).toEqual(asked);
  expect(results.map(({ succeed }) => succeed.length)).toEqual([1, 0, 0, 0, 1]);
  expect(results.map(({ error }) => error)).toEqual([
    null,
    expect.stringContaining('administrators of the project see the reason'),
    'There is no broker "brk_nobody"',
    expect.stringContaining('Mosquitto reads certificates from the files in its configuration'),
    null,
  ]);
  // The broker failed, so each of its listeners failed.
  expect(results.slice(1, 4).map(({ error, failed }) => failed.map((one) => one.error === error))).toEqual([
    [true],
    [true],
    [true],
  ]);
  expect(results.slice(1, 4).map(({ failed }) => failed[0]?.code)).toEqual([
    'BROKER_UNREACHABLE',
    'NOT_FOUND',
    'NOT_SUPPORTED_BY_BROKER',
  ]);
});

describe('server certificates', () => {
  const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint256;

  test('a private key is not sent to a broker that this service does not run', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const world = await certificateWorld();
    const brokerId = await world.addBroker(broker.url);
    const id = await world.store('server.pem', server.cert, server.key);
    const [result] = await world.deploy(id, [{ brokerId, listeners: [{ port: 8883 }] }]);
    expect(result?.error).toContain('Server certificates can only be deployed to brokers that this service runs');
    expect(result?.failed).toMatchObject([{ code: 'NOT_SUPPORTED_BY_BROKER' }]);
    expect(JSON.stringify(broker.requests)).not.toContain('PRIVATE KEY');
  });

  /** A broker that the service treats as one that it runs. */
  async function ownBroker(url: string, env: Record<string, string> = {}) {
    const world = await certificateWorld({ env });
    const brokerId = await world.addBroker(url);
    const { db, changes } = world.service.storage;
    await db.broker.update({
      where: { id: brokerId },
      data: { type: 'CLOUD', state: 'ACTIVE', targetState: 'ACTIVE' },
    });
    await changes.announce('broker', brokerId);
    const type = async () => (await world.service.graphql(`{ broker(id: "${brokerId}") { type } }`)).data.broker.type;
    await expect.poll(type).toBe('CLOUD');
    return { world, brokerId };
  }

  test('a new server certificate replaces the previous one, which is undeployed without a command', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const { world, brokerId } = await ownBroker(broker.url);
    const target = [{ brokerId, listeners: [{ port: 8883 }] }];
    const old = await world.store('old.pem', server.cert, server.key);
    const renewed = root.issue({ name: 'broker' });
    const young = await world.store('young.pem', renewed.cert, renewed.key);
    const authority = await world.store('factory.pem', root.cert);
    for (const id of [old, authority, young]) expect((await world.deploy(id, target))[0]?.failed).toEqual([]);
    const places = () => Promise.all([old, young, authority].map((id) => world.deployments(id)));
    expect(await places()).toEqual([[], ['8883 0.0.0.0'], ['8883 0.0.0.0']]);
    expect((await world.undeploy(old, target))[0]?.failed).toEqual([]);
    expect(broker.commands.filter(({ command }) => command === 'removeServerCertificate')).toEqual([]);
    expect((await world.undeploy(young, target))[0]?.failed).toEqual([]);
    expect(await places()).toEqual([[], [], ['8883 0.0.0.0']]);
    const sent = broker.commands.find(({ command }) => command === 'setServerCertificate');
    expect(sent).toMatchObject({ listener_id: 2, file_name: 'old.pem', cert_pem: server.cert, key_pem: server.key });
  });

  test('after a lost response the state is read from the broker', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const { world, brokerId } = await ownBroker(broker.url, { BROKER_TIMEOUT_MS: '5000' });
    const target = [{ brokerId, listeners: [{ port: 8883 }] }];
    const ids = [await world.store('server.pem', server.cert, server.key), await world.store('factory.pem', root.cert)];
    broker.instead = ({ command }) => (/^(set|delete)/.test(String(command)) ? 'SILENT' : null);
    for (const id of ids) {
      expect((await world.deploy(id, target))[0]?.failed).toEqual([]);
      expect(await world.deployments(id)).toEqual(['8883 0.0.0.0']);
      expect((await world.undeploy(id, target))[0]?.failed).toEqual([]);
      expect(await world.deployments(id)).toEqual([]);
    }
  });

  test('after a lost connection the service waits for the broker and reads its state', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const relay = await startRelay(Number(new URL(broker.url).port));
    const { world, brokerId } = await ownBroker(relay.url);
    const id = await world.store('server.pem', server.cert, server.key);
    let cut = true;
    broker.instead = ({ command }) => {
      if (command !== 'setServerCertificate' || !cut) return null;
      cut = false;
      relay.cut();
      return 'SILENT';
    };
    const [result] = await world.deploy(id, [{ brokerId, listeners: [{ port: 8883 }] }]);
    expect([result?.failed, cut]).toEqual([[], false]);
    expect(await world.deployments(id)).toEqual(['8883 0.0.0.0']);
  });

  test('an older file with the same name is replaced', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const { world, brokerId } = await ownBroker(broker.url);
    const id = await world.store('factory.pem', root.cert);
    broker.files.set('2/factory.pem', createAuthority({ name: 'Old' }).cert);
    expect((await world.deploy(id, [{ brokerId, listeners: [{ port: 8883 }] }]))[0]?.failed).toEqual([]);
    expect([...broker.files.values()]).toEqual([root.cert]);
  });

  test('an error of a broker contains no key', async () => {
    const broker = await startCommercialCertificates({ fingerprintOf });
    const { world, brokerId } = await ownBroker(broker.url);
    const id = await world.store('server.pem', server.cert, server.key);
    broker.instead = ({ command, key_pem }) => (command === 'setServerCertificate' ? `Bad key ${key_pem}` : null);
    const [result] = await world.deploy(id, [{ brokerId, listeners: [{ port: 8883 }] }]);
    expect(result?.failed).toMatchObject([{ error: 'Bad key ***\n: "server.pem"' }]);
  });
});
