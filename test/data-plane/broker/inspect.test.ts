import mqtt, { type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { parseClientList, parseClientsChanged } from '../../../src/protocol/apis/clients/inspect-parser.ts';
import { ADMINISTRATOR, connect, control, startBrokerHere } from './embedded.ts';

const API = 'cedalo/inspect';

test('shared subscriptions are reported by their full name', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  const member = await connect(mqttPort, { clientId: 'member' });
  await member.subscribeAsync({ '$share/workers/jobs/+': { qos: 1 }, 'jobs/a': { qos: 0 } });
  const get = { commands: [{ command: 'getClient', clientid: 'member' }] };
  const [before] = await control(admin, API, get);
  expect(before?.data).toMatchObject({
    subscriptions: ['$share/workers/jobs/+', 'jobs/a'],
    subscriptionQos: [1, 0],
    numSubscriptions: 2,
  });
  await member.unsubscribeAsync('$share/workers/jobs/+');
  const [after] = await control(admin, API, get);
  expect(after?.data).toMatchObject({ subscriptions: ['jobs/a'], numSubscriptions: 1 });
});

test('a client is reported completely and counted exactly', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  const will = {
    topic: 'will',
    payload: Buffer.from('gone'),
    qos: 1,
    retain: true,
  } as const;
  const device = await connect(mqttPort, {
    clientId: 'device',
    clean: false,
    keepalive: 33,
    will,
  });
  await device.subscribeAsync({ 'a/+': { qos: 1 }, b: { qos: 0 } });
  for (const qos of [0, 1, 2] as const) await device.publishAsync('to/nobody', 'twelve bytes', { qos });
  const received = new Promise<void>((resolve) => device.once('message', () => resolve()));
  await admin.publishAsync('a/x', 'seven..', { qos: 1 });
  await received;
  // Acknowledged by the time the next request of this client is.
  await device.publishAsync('to/nobody', '', { qos: 1 });

  const [response] = await control(admin, API, {
    commands: [{ command: 'getClient', clientid: 'device' }],
  });
  expect(response?.data).toEqual({
    clientid: 'device',
    username: 'admin',
    address: '127.0.0.1',
    remotePort: expect.any(Number),
    protocol: 'MQTT',
    protocolVersion: 'v3.1.1',
    connected: true,
    lastConnect: expect.any(Number),
    lastDisconnect: null,
    keepalive: 33,
    cleanSession: false,
    listener: { port: mqttPort, bind_address: '127.0.0.1' },
    will: {
      topic: 'will',
      qos: 1,
      retain: true,
      payload: Buffer.from('gone').toString('base64'),
      properties: [],
      delayInterval: 0,
    },
    subscriptions: ['a/+', 'b'],
    subscriptionQos: [1, 0],
    subscriptionOptions: [
      { no_local: false, retain_as_published: false },
      { no_local: false, retain_as_published: false },
    ],
    numSubscriptions: 2,
    numPublished: 4,
    bytesPublished: 36,
    numSubscribed: 1,
    bytesSubscribed: 7,
    numDropped: 0,
    queues: {
      messagesIn: 0,
      messagesInQos12: 0,
      bytesIn: 0,
      messagesOut: 0,
      messagesOutQos12: 0,
      messagesMax: 20_000,
      bytesOut: 0,
      bytesMax: 32 * 1_048_576,
      pagedMessagesOut: 0,
      pagedMessagesMax: 0,
    },
    inflight: {
      messagesIn: 0,
      messagesInMax: 65_535,
      bytesIn: 0,
      messagesOut: 0,
      messagesOutMax: 20_000,
      bytesOut: 0,
      messagesMax: 85_535,
      bytesMax: 32 * 1_048_576,
    },
  });
});

test('a persistent session stays in the list when its client disconnects; a clean session does not', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  const device = await connect(mqttPort, { clientId: 'device', clean: false });
  const passing = await connect(mqttPort, { clientId: 'passing' });
  const gone = watch(admin, (event) => event.removed.includes('passing'));
  const away = watch(admin, (event) =>
    event.changed.some((client) => client.clientid === 'device' && !client.connected),
  );
  await admin.subscribeAsync(`$CONTROL/${API}/v1/response`);
  await passing.endAsync();
  await device.endAsync();
  await Promise.all([gone, away]);
  const [response] = await control(admin, API, {
    commands: [{ command: 'listClients', verbose: true }],
  });
  const { clients, totalCount } = parseClientList(response?.data);
  expect(totalCount).toBe(2);
  expect(clients[1]).toMatchObject({
    clientid: 'device',
    connected: false,
    lastDisconnect: expect.any(Number),
  });
});

test('pages are parts of one list that is sorted by client id', async () => {
  const { mqttPort } = await startBrokerHere();
  const ids = ['a', 'b', 'c', 'd', 'e'];
  for (const clientId of [...ids].reverse()) await connect(mqttPort, { clientId });
  const admin = await connect(mqttPort, { clientId: 'z' });
  const page = async (fields: object) => {
    const [response] = await control(admin, API, {
      commands: [{ command: 'listClients', ...fields }],
    });
    return response?.data;
  };
  expect(await page({ count: 2, offset: 1 })).toMatchObject({
    clients: ['b', 'c'],
    totalCount: 6,
  });
  expect(await page({ count: -1, offset: 4 })).toMatchObject({
    clients: ['e', 'z'],
    totalCount: 6,
  });
  expect(await page({ offset: 99 })).toMatchObject({
    clients: [],
    totalCount: 6,
  });
});

test('a list and the events after it give the current state through 2,000 connects and disconnects', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  const url = `mqtt://127.0.0.1:${mqttPort}`;
  const events: NonNullable<ReturnType<typeof parseClientsChanged>>[] = [];
  admin.on('message', (_topic, payload) => {
    const event = parseClientsChanged(JSON.parse(payload.toString()));
    if (event) events.push(event);
  });
  await admin.subscribeAsync(`$CONTROL/${API}/v1/response`);

  const open = new Map<string, MqttClient>();
  onTestFinished(() => Promise.all([...open.values()].map((client) => client.endAsync(true))).then(() => {}));
  let rounds = 0;
  let snapshot: ReturnType<typeof parseClientList> | null = null;
  const lanes = Array.from({ length: 40 }, async (_, lane) => {
    for (let round = 0; round < 50; round += 1) {
      rounds += 1;
      const clientId = `c${lane}-${Math.floor(Math.random() * 5)}`;
      const client = open.get(clientId);
      open.delete(clientId);
      if (client && Math.random() < 0.3) client.stream.destroy();
      else if (client) await client.endAsync();
      else {
        const options = {
          ...ADMINISTRATOR,
          clientId,
          clean: lane % 2 === 0,
          protocolVersion: 4,
          reconnectPeriod: 0,
        } as const;
        const fresh = await mqtt.connectAsync(url, options);
        fresh.on('error', () => {});
        open.set(clientId, fresh);
      }
      if (rounds === 1_000) {
        const [response] = await control(admin, API, {
          commands: [{ command: 'listClients', verbose: true }],
        });
        snapshot = parseClientList(response?.data);
      }
    }
  });
  await Promise.all(lanes);

  const known = new Map<string, boolean>();
  const isTrue = () => {
    const { clients, sequence = 0 } = snapshot ?? { clients: [] };
    known.clear();
    for (const { clientid, connected = false } of clients) known.set(clientid, connected);
    for (const event of events.filter((candidate) => candidate.sequence > sequence)) {
      for (const { clientid, connected = false } of event.changed) known.set(clientid, connected);
      for (const clientid of event.removed) known.delete(clientid);
    }
    const connected = [...known].filter(([, isConnected]) => isConnected).map(([clientId]) => clientId);
    return connected.sort().join() === ['admin-1', ...open.keys()].sort().join();
  };
  if (!isTrue()) await new Promise<void>((resolve) => admin.on('message', () => isTrue() && resolve()));
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => (events[0]?.sequence ?? 0) + index));

  const [response] = await control(admin, API, {
    commands: [{ command: 'listClients', verbose: true }],
  });
  const { clients } = parseClientList(response?.data);
  expect(clients.map(({ clientid, connected }) => [clientid, connected])).toEqual(
    [...known].sort(([a], [b]) => (a < b ? -1 : 1)),
  );
});

test('a tool that does not support events ignores them, and gets its response', async () => {
  const { mqttPort } = await startBrokerHere();
  const tool = await connect(mqttPort, { clientId: 'tool' });
  const events: unknown[] = [];
  const answers: unknown[] = [];
  // Tools for the commercial plugins expect `responses` in each message that is no event.
  const read = new Promise<void>((resolve) => {
    tool.on('message', (_topic, payload) => {
      const message = JSON.parse(payload.toString());
      for (const response of message.responses) if (response.correlationData === 'mine') answers.push(response);
      if (message.type === 'event') events.push(message);
      if (events.length > 0 && answers.length > 0) resolve();
    });
  });
  await tool.subscribeAsync(`$CONTROL/${API}/v1/response`);
  await connect(mqttPort, { clientId: 'device' });
  const request = { commands: [{ command: 'listClients', correlationData: 'mine' }] };
  await tool.publishAsync(`$CONTROL/${API}/v1`, JSON.stringify(request));
  await read;
  expect(events[0]).toMatchObject({ type: 'event', event: 'clientsChanged', responses: [] });
  expect(answers).toMatchObject([{ data: { clients: ['device', 'tool'] } }]);
});

test('the connect time of a client is the same after it has disconnected', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  const ask = async () => {
    const [response] = await control(admin, API, { commands: [{ command: 'listClients', verbose: true }] });
    return new Map(parseClientList(response?.data).clients.map((client) => [client.clientid, client]));
  };
  const session = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 60 } } as const;
  const ids = Array.from({ length: 20 }, (_, index) => `d${index}`);
  const devices = await Promise.all(ids.map((clientId) => connect(mqttPort, { clientId, ...session })));
  const here = await ask();
  const away = watch(admin, ({ changed }) => changed.some(({ connected }) => connected === false));
  await Promise.all(devices.map((device) => device.endAsync()));
  await away;
  const after = await ask();
  for (const id of ids) {
    expect(after.get(id)?.lastConnect).toBe(here.get(id)?.lastConnect);
    expect(after.get(id)?.lastDisconnect).toBeGreaterThanOrEqual(here.get(id)?.lastConnect ?? Number.NaN);
  }
});

function watch(
  client: MqttClient,
  condition: (event: NonNullable<ReturnType<typeof parseClientsChanged>>) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    client.on('message', (_topic, payload) => {
      const event = parseClientsChanged(JSON.parse(payload.toString()));
      if (event && condition(event)) resolve();
    });
  });
}
