import fc from 'fast-check';
import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import { isLong, runs } from '../../support/suite.ts';
import { collect, connect, control, startBrokerHere, startTestBroker } from './embedded.ts';

const API = 'cedalo/inspect';

test('a batch gets one response message in order, with correlation data; a refused command does not stop the next', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort, { clientId: 'admin-1' });
  const responses = await control(client, API, {
    commands: [
      { command: 'getClient', clientid: 'nobody', correlationData: 'a' },
      { command: 'LISTCLIENTS', correlationData: 'b' },
      { command: 'getClient' },
      { command: 'noSuchThing', correlationData: 'c' },
    ],
  });
  expect(responses).toEqual([
    { command: 'getClient', correlationData: 'a', error: 'Client not found' },
    {
      command: 'LISTCLIENTS',
      correlationData: 'b',
      data: {
        totalCount: 1,
        clients: ['admin-1'],
        sequence: expect.any(Number),
        since: expect.any(Number),
      },
    },
    { command: 'getClient', error: 'Invalid/missing clientid' },
    { command: 'noSuchThing', correlationData: 'c', error: 'Unknown command' },
  ]);
});

test.each([
  ['not json', [{ command: 'Unknown command', error: 'Payload not valid JSON' }]],
  ['', [{ command: 'Unknown command', error: 'Payload not valid JSON' }]],
  ['[]', [{ command: 'Unknown command', error: 'Invalid/missing commands' }]],
  ['{"commands":{}}', [{ command: 'Unknown command', error: 'Invalid/missing commands' }]],
  ['{"commands":[]}', []],
  ['{"commands":[7,{"command":"listClients"}]}', [{ command: 'Unknown command', error: 'Command not an object' }]],
  ['{"commands":[{"command":7}]}', [{ command: 'Unknown command', error: 'Missing command' }]],
  [
    '{"commands":[{"command":"x"},{"command":"getClient","correlationData":7},{"command":"x"}]}',
    [
      { command: 'x', error: 'Unknown command' },
      { command: 'getClient', error: 'Invalid correlationData data type.' },
    ],
  ],
])('the payload %s gets the same response as from Mosquitto', async (payload, responses) => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  expect(await control(client, API, payload)).toEqual(responses);
});

test('a request has at most 100,000 values', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const request = (values: number) => `{"commands":[{"command":"x","list":[${Array(values - 4).fill(0)}]}]}`;
  expect(await control(client, API, request(100_000))).toEqual([{ command: 'x', error: 'Unknown command' }]);
  expect(await control(client, API, request(100_001))).toEqual([
    { command: 'Unknown command', error: 'Payload has too many values, levels or shapes of objects' },
  ]);
});

test('a request to a topic without an API is answered to the requester only', async () => {
  const { mqttPort } = await startBrokerHere();
  const asking = await connect(mqttPort);
  const other = await connect(mqttPort);
  const heard = collect(other);
  await other.subscribeAsync('$CONTROL/#');
  const { until } = collect(asking);
  await asking.publishAsync('$CONTROL/no/such/v1', '{"commands":[]}', {
    qos: 1,
  });
  const [answer] = await until((messages) => messages.length > 0);
  expect(answer).toMatchObject({
    topic: '$CONTROL/no/such/v1/response',
    text: '{"error":"endpoint not available","responses":[]}',
  });
  await other.publishAsync('x', 'x', { qos: 1 });
  expect(heard.messages.filter(({ topic }) => topic.includes('no/such'))).toEqual([]);
});

test('requests are not delivered or retained, and # does not match $CONTROL', async () => {
  const { mqttPort } = await startBrokerHere();
  const everything = await connect(mqttPort);
  const { messages, until } = collect(everything);
  await everything.subscribeAsync(['#', '+/#']);
  const observer = await connect(mqttPort);
  const control1 = collect(observer);
  await observer.subscribeAsync('$CONTROL/#');
  const client = await connect(mqttPort);
  await client.publishAsync(`$CONTROL/${API}/v1`, '{"commands":[{"command":"x"}]}', { qos: 2, retain: true });
  await control1.until((seen) => seen.some(({ text }) => text.includes('Unknown command')));
  await client.publishAsync('end', 'end', { qos: 1 });
  await until((seen) => seen.some(({ topic }) => topic === 'end'));
  expect(messages.filter(({ topic }) => topic.startsWith('$'))).toEqual([]);
  expect(control1.messages.filter(({ topic }) => !topic.endsWith('/response'))).toEqual([]);
});

test('licence, listeners, plugins and the administrator are reported', async () => {
  const { mqttPort, wsPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const one = async (api: string, command: object) => (await control(client, api, { commands: [command] }))[0]?.data;
  expect(await one('cedalo/license', { command: 'getLicenseInformation' })).toMatchObject({
    edition: 'embedded',
    plan: 'open-source',
    features: expect.arrayContaining([{ name: 'cedalo/inspect' }, { name: 'dynamic-security' }]),
  });
  expect(await one('broker', { command: 'listListeners' })).toEqual({
    listeners: [
      {
        id: 1,
        port: mqttPort,
        protocol: 'mqtt',
        'bind-address': '127.0.0.1',
        tls: false,
        'require-certificate': false,
      },
      {
        id: 2,
        port: wsPort,
        protocol: 'mqtt+websockets',
        'bind-address': '127.0.0.1',
        tls: false,
        'require-certificate': false,
      },
    ],
  });
  expect(await one('broker', { command: 'listPlugins' })).toMatchObject({
    plugins: expect.arrayContaining([
      {
        name: 'cedalo/inspect',
        version: BUILD.version,
        'control-endpoints': ['$CONTROL/cedalo/inspect/v1'],
      },
    ]),
  });
  expect(await one('dynamic-security', { command: 'listClients' })).toEqual({
    totalCount: 1,
    clients: ['admin'],
  });
  expect(await one('dynamic-security', { command: 'getClient', username: 'admin' })).toMatchObject({
    client: { username: 'admin', connections: [{ address: '127.0.0.1' }] },
  });
});

test('no payload on any $CONTROL topic ends the broker or has no response', async () => {
  const failures: string[] = [];
  const { mqttPort } = await startTestBroker({
    onState: (state) => void (state === 'FAILED' && failures.push(state)),
  });
  const client: MqttClient = await connect(mqttPort);
  const json = fc.json({ maxDepth: 4 });
  const command = fc.record(
    {
      command: fc.constantFrom('listClients', 'getClient', '__proto__', 'constructor', 'toString', ''),
      correlationData: fc.oneof(fc.string(), fc.jsonValue()),
      clientid: fc.jsonValue(),
      verbose: fc.jsonValue(),
      count: fc.oneof(fc.jsonValue(), fc.constantFrom(-1, 0, 1e308, -1e308, 0.5, Number.MAX_SAFE_INTEGER)),
      offset: fc.oneof(fc.jsonValue(), fc.constantFrom(-1, 0, 1e308, -1e308, 0.5)),
    },
    { requiredKeys: [] },
  );
  const request = fc.array(fc.oneof(command, fc.jsonValue())).map((commands) => JSON.stringify({ commands }));
  const payloads = fc.oneof(
    fc.string(),
    json,
    request,
    fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  const apis = fc.constantFrom(API, 'cedalo/license', 'broker', 'dynamic-security');
  await fc.assert(
    fc.asyncProperty(apis, payloads, async (api, payload) => {
      expect(Array.isArray(await control(client, api, payload === '' ? ' ' : payload))).toBe(true);
    }),
    { numRuns: runs(isLong ? 400 : 150) },
  );
  expect(failures).toEqual([]);
});
