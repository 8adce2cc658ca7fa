import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { MARK_KINDS, operationsOf } from '../../../src/domains/history/marks/mark-kinds.ts';
import { createAuthority } from '../../support/certificates.ts';
import { startTestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { embeddedBroker } from '../clients/truth/observed-broker.ts';
import { dialMqtt } from '../clients/truth/raw-client.ts';

const running = shared(() => startTestService());

const MARKS = `query ($id: ID!, $from: DateTime, $to: DateTime, $kinds: [MarkKind!], $first: Int! = 100) { project(id: $id) {
  marks(from: $from, to: $to, kinds: $kinds, first: $first) { isComplete marks { at kind event { operation actorName brokerId result } } }
} }`;
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const DELETE = 'mutation ($input: DeleteBrokerInput!) { deleteBroker(input: $input) { deletedBrokerId } }';

test('marks are the changes of the range, the newest first, and no refused attempts', async () => {
  const service = await running();
  const { projectId: id } = service;
  const began = new Date().toISOString();
  const input = { projectId: id, name: 'marked', url: 'mqtt://127.0.0.1:1' };
  const { broker } = (await service.graphql(ADD, { input })).data.addBroker;
  expect((await service.graphql(ADD, { input: { ...input, name: '' } })).errors).toBeDefined();
  expect((await service.graphql(DELETE, { input: { brokerId: broker.id } })).errors).toBeUndefined();

  const read = async (args: object) => (await service.graphql(MARKS, { id, ...args })).data.project.marks;
  const all = await read({ from: began });
  expect(all.isComplete).toBe(true);
  expect(all.marks).toMatchObject([
    { kind: 'DEPLOYMENT', event: { operation: 'deleteBroker', brokerId: broker.id, result: 'DONE' } },
    { kind: 'DEPLOYMENT', event: { operation: 'addBroker', actorName: 'root@example.com' } },
  ]);
  expect(await read({ from: began, first: 1 })).toMatchObject({ isComplete: false, marks: [{ kind: 'DEPLOYMENT' }] });
  expect(await read({ from: began, kinds: ['ACCESS', 'CERTIFICATE'] })).toEqual({ isComplete: true, marks: [] });
  const early = '2000-01-01T00:00:00Z';
  expect(await read({ from: early, to: began })).toMatchObject({ isComplete: true });
  // As the retention does.
  await service.storage.db.auditEntry.deleteMany({ where: { sequence: 1 } });
  expect(await read({ from: early, to: began })).toMatchObject({ isComplete: false });
  expect(await read({ from: new Date().toISOString() })).toMatchObject({ isComplete: true });
  const { errors } = await service.graphql(MARKS, { id, from: began, to: began });
  expect(errors).toMatchObject([{ extensions: { code: 'INVALID' } }]);
});

const CREATE_ACCOUNT = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { outcome } }';
const DISCONNECT = 'mutation ($input: DisconnectClientInput!) { disconnectClient(input: $input) { clientId } }';
const SET_STATE = 'mutation ($input: SetTargetStateInput!) { setTargetState(input: $input) { broker { id } } }';

test('an access change, a kick, a new certificate and a restart are marks of their kinds', async () => {
  const { service, brokerId, port } = await embeddedBroker();
  const { projectId: id } = await service.storage.db.broker.findFirstOrThrow();
  const from = new Date().toISOString();
  const account = { username: 'operator', password: 'a password' };
  const options = { protocolVersion: 5, clean: true, expirySeconds: 0, keepalive: 600 } as const;
  const client = await dialMqtt({ port, clientId: 'kicked', account, ...options });
  const steps = [
    [CREATE_ACCOUNT, { brokerId, change: { username: 'meter', password: 'x' } }],
    [DISCONNECT, { brokerId, clientId: 'kicked' }],
    [SET_STATE, { brokerId, targetState: 'INACTIVE' }],
  ] as const;
  for (const [document, input] of steps) {
    expect((await service.graphql(document, { input })).errors).toBeUndefined();
  }
  await client.closed;
  const { cert } = createAuthority({ name: 'Plant' });
  const upload = { name: 'plant', filename: 'plant.pem', cert };
  expect((await service.rest('POST', `/api/projects/${id}/certificates`, service.root, upload)).status).toBe(200);

  const { marks } = (await service.graphql(MARKS, { id, from })).data.project.marks;
  const onBroker = { brokerId, actorName: 'root@example.com', result: 'DONE' };
  expect(marks).toMatchObject([
    { kind: 'CERTIFICATE', event: { operation: 'createCertificate', brokerId: null } },
    { kind: 'RESTART', event: { operation: 'setTargetState', ...onBroker } },
    { kind: 'DISCONNECT', event: { operation: 'disconnectClient', ...onBroker } },
    { kind: 'ACCESS', event: { operation: 'createAccount', ...onBroker } },
  ]);
  for (const kind of ['ACCESS', 'CERTIFICATE', 'DISCONNECT', 'RESTART']) {
    const { data } = await service.graphql(MARKS, { id, from, kinds: [kind] });
    expect(data.project.marks.marks).toMatchObject([{ kind }]);
  }
});

test('marks need the role ADMIN in the whole project', async () => {
  const service = await running();
  const { projectId: id, services } = service;
  const token = async (role: 'ADMIN' | 'EDITOR', brokerIds: string[] | null) =>
    (await services.tokens.issue({ projectId: id, name: 't', role, brokerIds }, 'test')).secret;
  const { id: brokerId } = await services.brokers.addSelfHosted(id, { name: 'r', url: 'mqtt://127.0.0.1:1' });
  expect((await service.graphql(MARKS, { id }, await token('ADMIN', null))).errors).toBeUndefined();
  for (const refused of [await token('EDITOR', null), await token('ADMIN', [brokerId])]) {
    const { data, errors } = await service.graphql(MARKS, { id }, refused);
    expect(data.project.marks).toBeNull();
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }]);
  }
});

test('every operation with a mark is a mutation of the graph', () => {
  const mutations = schema.getMutationType()?.getFields() ?? {};
  expect(operationsOf(MARK_KINDS).filter((operation) => !(operation in mutations))).toEqual([]);
});
