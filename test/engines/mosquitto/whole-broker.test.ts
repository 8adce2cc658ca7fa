import { expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { startClient } from '../../support/mosquitto.ts';
import { subscribe } from '../../support/subscription.ts';
import { administratorOf, createBroker, portsOf, startRunning, urlOf } from './cloud-mosquitto.ts';

test('a broker on Mosquitto is used like any other: who may connect, who is there, streams, messages and certificates', async () => {
  const service = await startRunning();
  const { id } = await createBroker(service, { listeners: [{}, { hasTls: true }] });
  const url = await urlOf(service, id);
  const capabilities = async () => {
    const { data } = await service.graphql('query ($id: ID!) { broker(id: $id) { capabilities { api provider } } }', {
      id,
    });
    return Object.fromEntries(
      data.broker.capabilities.map(({ api, provider }: { api: string; provider: string }) => [api, provider]),
    );
  };
  expect(await capabilities()).toMatchObject({
    'dynamic-security': 'BROKER',
    broker: 'GATEWAY',
    'certificate-management': 'GATEWAY',
    'cedalo/inspect': 'GATEWAY',
    'stream-processing': 'GATEWAY',
  });

  const { data, errors } = await service.graphql(
    `mutation ($role: CreateAccessRoleInput!, $client: CreateAccountInput!) {
      createAccessRole(input: $role) { outcome }
      createAccount(input: $client) { outcome }
    }`,
    {
      role: {
        brokerId: id,
        change: {
          roleName: 'meter',
          acls: [{ aclType: 'PUBLISH_CLIENT_SEND', topic: 'line/#', allow: true }],
        },
      },
      client: { brokerId: id, change: { username: 'meter-1', password: 'p', roles: [{ roleName: 'meter' }] } },
    },
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({ createAccessRole: { outcome: 'APPLIED' }, createAccount: { outcome: 'APPLIED' } });
  const clients = subscribe(
    service,
    service.root,
    'subscription ($id: ID!) { connectedClients(brokerId: $id) { clients { clientId username } } }',
    { id },
  );
  const meter = await startClient(url, {
    clientId: 'dev-1',
    username: 'meter-1',
    password: 'p',
    protocolVersion: 5,
  });
  await clients.until(({ connectedClients }) =>
    connectedClients.clients.some(({ clientId }: { clientId: string }) => clientId === 'dev-1'),
  );
  // The listeners are known, so the encryption is, which this version of Mosquitto may not log.
  const CLIENT = `query ($id: ID!) { broker(id: $id) { plugins { name } connectedClient(clientId: "dev-1") {
    protocol tls { version } listener { port hasTls } unknownFields { field }
  } } }`;
  const { plugins, connectedClient } = (await service.graphql(CLIENT, { id })).data.broker;
  expect(plugins).toEqual([{ name: 'dynamic-security' }]);
  expect(connectedClient).toMatchObject({
    protocol: 'MQTT',
    tls: null,
    listener: { port: Number(new URL(url).port), hasTls: false },
  });
  expect(connectedClient.unknownFields).not.toContainEqual({ field: 'tls' });
  await expect(meter.publishAsync('elsewhere', 'x', { qos: 1 })).rejects.toThrow('Not authorized');

  const made = await service.graphql(
    'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { state provider } } }',
    { input: { brokerId: id, name: 'copy', sourceTopic: 'line/+', targetTopic: 'copied' } },
  );
  expect(made).toMatchObject({ data: { createStream: { stream: { state: 'RUNNING', provider: 'GATEWAY' } } } });
  const reader = await startClient(url, { ...administratorOf(service, id), protocolVersion: 5 });
  const copied = new Promise<string>((resolve) => reader.on('message', (topic) => resolve(topic)));
  await reader.subscribeAsync('copied');
  await meter.publishAsync('line/1', '{"speed":1}', { qos: 1 });
  expect(await copied).toBe('copied');

  // A certificate of the project, as for any broker. Everything else continues.
  const root = createAuthority();
  const { cert, key, fingerprint256 } = root.issue();
  const stored = await service.graphql(
    'mutation ($input: CreateCertificateInput!) { createCertificate(input: $input) { certificate { id } } }',
    { input: { projectId: service.projectId, filename: 'plant.pem', cert, privateKey: key } },
  );
  const { id: certificateId } = stored.data.createCertificate.certificate;
  const ports = await portsOf(service, id);
  const listeners = [{ port: ports[1] }, { port: ports[2] }];
  const deployed = await service.graphql(
    `mutation ($input: DeployCertificateInput!) {
      deployCertificate(input: $input) { results { error succeed { port } failed { port error } } }
    }`,
    { input: { certificateId, brokers: [{ brokerId: id, listeners }] } },
  );
  expect(deployed.data.deployCertificate.results).toEqual([
    {
      error: null,
      succeed: [{ port: ports[2] }],
      failed: [{ port: ports[1], error: expect.stringContaining('TLS is not enabled') }],
    },
  ]);
  const secure = await startClient(`mqtts://localhost:${ports[2]}`, {
    ...administratorOf(service, id),
    ca: root.leaf,
  });
  const { data: told } = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { listeners { port hasTls server { fingerprint256 } } } }',
    { id },
  );
  expect(told.broker.listeners).toEqual([
    { port: ports[1], hasTls: false, server: null },
    { port: ports[2], hasTls: true, server: { fingerprint256 } },
  ]);
  const again = new Promise<string>((resolve) => secure.on('message', (topic) => resolve(topic)));
  await secure.subscribeAsync('copied');
  const later = await startClient(url, { username: 'meter-1', password: 'p', protocolVersion: 5 });
  // The stream runs again after it has reconnected. Until then the test repeats the message.
  const sending = setInterval(() => void later.publishAsync('line/1', '{}').catch(() => undefined), 100);
  onTestFinished(() => clearInterval(sending));
  expect(await again).toBe('copied');
});
