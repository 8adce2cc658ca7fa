import type { IPublishPacket, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker, KINDS, messageWorld } from './message-world.ts';
import { acl, PUBLISH, publish, serviceAccount } from './retained-world.ts';

const nextMessage = (client: MqttClient): Promise<IPublishPacket> =>
  new Promise((resolve) => client.once('message', (_topic, _payload, packet) => resolve(packet)));

for (const kind of KINDS) {
  test(`a message published at ${kind} arrives as it was given, with the outcome of the broker`, async () => {
    const world = await messageWorld(kind);
    const subscriber = await world.client({ protocolVersion: 5 });
    await subscriber.subscribeAsync('plant/#', { qos: 2 });
    const next = () => nextMessage(subscriber);
    let arrived = next();
    const published = await publish(world, {
      topic: 'plant/1',
      payload: { text: 'grün' },
      qos: 2,
      properties: {
        contentType: 'text/plain',
        responseTopic: 'plant/answer',
        correlationDataBase64: 'AAEC',
        messageExpirySeconds: 4_294_967_295,
        isPayloadUtf8: true,
        userProperties: [
          { name: 'a', value: '1' },
          { name: 'a', value: '2' },
        ],
      },
    });
    expect(published).toEqual({
      topic: 'plant/1',
      payloadBytes: 5,
      outcome: 'ACKNOWLEDGED',
      reasonCode: 0,
      protocolVersion: '5',
      remarks: [],
      broker: { id: world.brokerId },
    });
    expect(await arrived).toMatchObject({
      topic: 'plant/1',
      payload: Buffer.from('grün'),
      qos: 2,
      retain: false,
      properties: {
        contentType: 'text/plain',
        responseTopic: 'plant/answer',
        correlationData: Buffer.from([0, 1, 2]),
        payloadFormatIndicator: true,
        userProperties: { a: ['1', '2'] },
      },
    });
    arrived = next();
    expect(await publish(world, { topic: 'plant/2', payload: { json: { on: [true, 1.5] } } })).toMatchObject({
      outcome: 'ACKNOWLEDGED',
      payloadBytes: 17,
    });
    expect(await arrived).toMatchObject({ payload: Buffer.from('{"on":[true,1.5]}'), qos: 1 });
    arrived = next();
    expect(await publish(world, { topic: 'plant/3', payload: { base64: '/wA=' }, qos: 0 })).toMatchObject({
      outcome: 'SENT',
      reasonCode: null,
      payloadBytes: 2,
      remarks: [expect.stringContaining('does not report')],
    });
    expect(await arrived).toMatchObject({ payload: Buffer.from([0xff, 0]), qos: 0 });

    // The dry run sends nothing: the next message is the retained one.
    arrived = next();
    const retained = { topic: 'plant/4', payload: { text: 'kept' }, retain: true };
    expect(await publish(world, { ...retained, dryRun: true })).toMatchObject({ outcome: 'NOT_PUBLISHED' });
    await publish(world, retained);
    expect(await arrived).toMatchObject({ topic: 'plant/4', payload: Buffer.from('kept') });
    const later = await world.client();
    const received = nextMessage(later);
    await later.subscribeAsync('plant/4');
    expect(await received).toMatchObject({ payload: Buffer.from('kept'), retain: true });
    // Mosquitto reports it for QoS 1 only.
    const expected = kind === 'Mosquitto' ? 'NO_MATCHING_SUBSCRIBERS' : 'ACKNOWLEDGED';
    expect(await publish(world, { topic: 'nobody', payload: { text: '' } })).toMatchObject({
      outcome: expected,
      reasonCode: kind === 'Mosquitto' ? 16 : 0,
    });
  });
}

test('invalid messages and topics of the broker are refused with the path, and lesser roles', async () => {
  const world = await messageWorld('Mosquitto');
  const { service } = world;
  const message = { topic: 'a', payload: { text: 'x' } };
  const editor = (await service.person('EDITOR')).token;
  expect(await publish(world, message, editor)).toMatchObject({ topic: 'a' });
  expect((await publish(world, message, (await service.person('VIEWER')).token)).code).toBe('NOT_ALLOWED');
  expect((await publish(world, message, (await service.person(null)).token)).code).toBe('NOT_FOUND');

  const properties = { userProperties: [{ name: 'a', value: '\u0001' }] };
  for (const [path, input] of [
    ['topic', { topic: 'a/+' }],
    ['topic', { topic: '' }],
    ['topic', { topic: '$CONTROL/dynamic-security/v1' }],
    ['topic', { topic: '$SYS/broker/version' }],
    ['topic', { topic: '$share/g/a' }],
    ['topic', { topic: '$other' }],
    ['topic', { topic: 'a/'.repeat(200) }],
    ['qos', { qos: 3 }],
    ['payload.base64', { payload: { base64: '_w==' } }],
    ['properties.responseTopic', { properties: { responseTopic: 'a/#' } }],
    ['properties.contentType', { properties: { contentType: '\u0001' } }],
    ['properties.correlationDataBase64', { properties: { correlationDataBase64: 'x' } }],
    ['properties.messageExpirySeconds', { properties: { messageExpirySeconds: -1 } }],
    ['properties.messageExpirySeconds', { properties: { messageExpirySeconds: 4_294_967_296 } }],
    ['properties.isPayloadUtf8', { payload: { base64: '/w==' }, properties: { isPayloadUtf8: true } }],
    ['properties.userProperties.0.value', { properties }],
    ['properties.userProperties', { properties: { userProperties: Array(101).fill({ name: 'a', value: 'b' }) } }],
  ] as const) {
    const issue = { path: `input.${path}`, reason: expect.any(String) };
    const refused = { code: 'INVALID', info: { issues: [issue] } };
    expect(await publish(world, { ...message, ...input }), path).toMatchObject(refused);
  }
  const two = await service.graphql(PUBLISH, {
    input: { brokerId: world.brokerId, topic: 'a', payload: { text: 'x', base64: 'eA==' } },
  });
  expect(two.errors).toHaveLength(1);
});

test('the audit has topic, size, QoS and RETAIN of a message, and no payload', async () => {
  const world = await messageWorld('Mosquitto');
  const properties = { correlationDataBase64: 'c2VjcmV0', userProperties: [{ name: 'n', value: 'secret' }] };
  await publish(world, { topic: 'a/b', payload: { base64: 'c2VjcmV0' }, qos: 2, retain: true, properties });
  await publish(world, { topic: 'a/c', payload: { json: { key: 'secret' } } });
  const entries = await world.service.storage.db.auditEntry.findMany({ where: { operation: 'publishMessage' } });
  expect(entries.map(({ after }) => JSON.parse(after ?? ''))).toMatchObject([
    { topic: 'a/b', payload: { base64: '(6 bytes)' }, qos: 2, retain: true, outcome: expect.any(String) },
    { topic: 'a/c', payload: { json: '(16 bytes)' }, qos: 1, retain: false },
  ]);
  expect(entries).toMatchObject([
    { targetKind: 'message', before: null, brokerId: world.brokerId, result: 'DONE' },
    { targetKind: 'message', before: null },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/secret|c2VjcmV0/);
});

test('a refusal by the broker names the rule that decided, and what would help', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const commands = serviceAccount([acl('publishClientSend', 'open/#'), acl('publishClientSend', 'closed/#', false)]);
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, { username: 'service', password: 'p' });
  const world = { service, brokerId };
  const message = (topic: string, rest = {}) => publish(world, { topic, payload: { text: 'x' }, ...rest });

  expect(await message('open/a')).toMatchObject({ outcome: 'NO_MATCHING_SUBSCRIBERS' });
  expect(await message('closed/a')).toMatchObject({
    code: 'NOT_ALLOWED',
    message: expect.stringContaining('"guest"'),
    info: {
      username: 'service',
      action: 'PUBLISH',
      topic: 'closed/a',
      decision: { reason: 'RULE', decidedBy: { roleName: 'guest', rule: { topic: 'closed/#', allow: false } } },
      whatWouldHelp: expect.stringContaining('a rule that allows publishing to "closed/a"'),
    },
  });
  expect(await message('elsewhere')).toMatchObject({
    code: 'NOT_ALLOWED',
    info: {
      decision: { reason: 'DEFAULT', decidedBy: null },
      whatWouldHelp: expect.stringContaining('the default access for publishing is to deny it'),
    },
  });
  // With QoS 0 the broker reports nothing: its rules decide before.
  expect(await message('open/a', { qos: 0 })).toMatchObject({ outcome: 'SENT' });
  expect(await message('closed/a', { qos: 0 })).toMatchObject({ code: 'NOT_ALLOWED' });
  expect(await message('closed/a', { dryRun: true })).toMatchObject({ code: 'NOT_ALLOWED' });
  expect(await message('elsewhere', { dryRun: true })).toMatchObject({
    outcome: 'NOT_PUBLISHED',
    remarks: [expect.stringContaining('default access'), expect.stringContaining('Another plugin')],
  });
});

test('a broker that is away is an error of its own', async () => {
  const world = await messageWorld('Mosquitto');
  await world.mosquitto?.stop();
  expect((await publish(world, { topic: 'a', payload: { text: '' } })).code).toBe('BROKER_UNREACHABLE');
  await world.mosquitto?.start();
});
