import { connect, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { clientControlPlugin } from '../../../../src/domains/clients/control/client-control-plugin.ts';
import { inspectPlugin } from '../../../../src/domains/clients/inspect/inspect-plugin.ts';
import { disconnectClient } from '../../../../src/protocol/apis/clients/client-control.ts';
import { getClient, listClients } from '../../../../src/protocol/apis/clients/inspect-control.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import type { BrokerLinkOptions } from '../../../../src/protocol/mqtt/link-options.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { openLink, reached } from '../../../support/link.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { isLong } from '../../../support/suite.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { startFollowed } from '../control/followed-mosquitto.ts';

/** A link that is not connected yet, and its controls, as the service has them. */
function openFollowed(options: Partial<BrokerLinkOptions> & { readonly url: string }) {
  const link = openLink(options);
  const controls = new BrokerControls(link, {
    timeoutMs: 30_000,
    plugins: [inspectPlugin, clientControlPlugin],
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => controls.close());
  return { link, controls };
}

const othersOf = async (controls: BrokerControls) => {
  const { clients, complete } = await listClients(controls);
  return { ids: clients.filter(({ gateway }) => !gateway).map(({ clientid }) => clientid), complete };
};

test('a client that connects as soon as the link is up is listed, without another wait', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  const { link, controls } = openFollowed({ url: broker.url, ...ADMIN });
  await reached(link, 'CONNECTED');
  await broker.client({ clientId: 'at once' });
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  await expect.poll(() => othersOf(controls)).toEqual({ ids: ['at once'], complete: true });
  // Follows from the broker's version or its listeners, which are reported after the client.
  await expect
    .poll(() => getClient(controls, 'at once'))
    .toMatchObject({ protocol: 'MQTT', listener: { port: broker.port } });
});

test('the log of a broker that lists its clients itself is not followed, and no second connection is opened', async () => {
  const broker = await startScriptedBroker((_topic, payload) => {
    const { command, correlationData } = JSON.parse(payload).commands[0];
    const data = { totalCount: 0, clients: [] };
    return command === 'listClients' ? [JSON.stringify({ responses: [{ command, correlationData, data }] })] : [];
  });
  const { link, controls } = openFollowed({ url: broker.url });
  let knocks = 0;
  link.knock = async () => `${++knocks}`;
  const events: unknown[] = [];
  controls.onEvent('cedalo/inspect', (event) => events.push(event));
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'BROKER' });
  expect(broker.filters[0]).toBe('$SYS/broker/log/#');
  await expect.poll(() => broker.unsubscribed).toContain('$SYS/broker/log/#');
  const followed = broker.filters.filter((filter) => filter.startsWith('$SYS/'));
  await expect.poll(() => new Set(broker.unsubscribed)).toEqual(new Set(followed));
  expect({ knocks, events }).toEqual({ knocks: 0, events: [] });
});

test('after restarts all clients that reconnect after the link are listed, and can be disconnected', async () => {
  const { broker, link, controls } = await startFollowed();
  const devices = [...Array(50).keys()].map((n) => {
    const account = n === 0 ? 'u2' : 'u1';
    const options = { clientId: `device ${n}`, clean: n % 2 === 0, username: account, password: account };
    // The link, whose attempts are 100 ms apart, is back before them, also on a loaded machine.
    return returningDevice(broker.url, options, n % 3 === 0 ? 2_000 : 4_000);
  });
  const everybody = devices.map(({ client }) => client.options.clientId).sort();
  const allListed = () => expect.poll(() => othersOf(controls)).toEqual({ ids: everybody, complete: true });
  await allListed();
  for (const halves of isLong ? [0, 2, 4] : [2]) {
    const away = Promise.all(devices.map((device) => device.failures(Math.floor((halves * 2_000) / device.period))));
    const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
    await broker.kill();
    await away;
    await broker.start();
    await back;
    await allListed();
  }
  expect(await disconnectClient(controls, { clientid: 'device 0' })).toMatchObject({ method: 'ACCOUNT' });
});

/** A device that tries to come back every `period` milliseconds. */
function returningDevice(url: string, options: object, period: number) {
  const client = connect(url, { ...options, reconnectPeriod: period });
  client.on('error', () => undefined);
  onTestFinished(async () => {
    await client.endAsync(true);
  });
  /** Resolves when it has lost its connection and could not come back so many times. */
  const failures = (count: number) =>
    new Promise<void>((resolve) => {
      let left = count + 1;
      const closed = () => {
        left -= 1;
        if (left > 0) return;
        client.off('close', closed);
        resolve();
      };
      client.on('close', closed);
    });
  return { client, period, failures };
}

test('a link that is interrupted repeatedly misses no client that connects or disconnects meanwhile', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const relay = await startRelay(broker.port);
  const { link, controls } = openFollowed({ url: relay.url });
  await reached(link, 'CONNECTED');
  // The broker grants in order: the log is subscribed to, and the probe for the API still takes a second.
  await link.subscribe('something else', () => undefined);
  const present: MqttClient[] = [];
  for (let round = 0; round < (isLong ? 5 : 3); round++) {
    const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
    relay.cut();
    const came = [...Array(10).keys()].map((n) => broker.client({ clientId: `${round}-${n}`, clean: n % 2 === 0 }));
    await Promise.all(present.splice(0, 5).map((client) => client.endAsync()));
    present.push(...(await Promise.all(came)));
    expect(await back).toMatchObject({ resumed: true });
  }
  const ids = present.map(({ options }) => options.clientId).sort();
  const connected = async () => {
    const { clients, complete } = await listClients(controls);
    const others = clients.filter((client) => client.connected && !client.gateway);
    return { ids: others.map(({ clientid }) => clientid), complete };
  };
  await expect.poll(connected).toEqual({ ids, complete: true });
});

test('a restarted broker that stored our session has no earlier clients, however short the restart', async () => {
  const folder = temporaryFolder();
  const lines = ['persistence true', `persistence_location ${folder}/`];
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG, lines });
  const relay = await startRelay(broker.port);
  const { link, controls } = openFollowed({ url: relay.url });
  await reached(link, 'CONNECTED');
  await controls.capability('cedalo/inspect');
  // Mosquitto 2.0 stores only sessions without Clean Session.
  const again = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  relay.cut();
  await again;
  await broker.client({ clientId: 'old' });
  await expect.poll(() => getClient(controls, 'old').catch(() => null)).not.toBeNull();
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await broker.stop();
  await broker.start();
  await broker.client({ clientId: 'perhaps before us' });
  expect(await back).toMatchObject({ resumed: true });
  await broker.client({ clientId: 'new' });
  await expect.poll(() => othersOf(controls)).toEqual({ ids: ['new', 'perhaps before us'], complete: true });
});

test('the known fields of our own connection are reported', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG, webSocket: true });
  for (const [url, protocol] of [
    [broker.url, 'MQTT'],
    [broker.webSocketUrl, 'MQTT-WS'],
  ] as const) {
    const { link, controls } = openFollowed({ url, keepaliveSeconds: 21 });
    await reached(link, 'CONNECTED');
    const own = await getClient(controls, link.clientId);
    expect(own).toMatchObject({ gateway: true, protocol, protocolVersion: 'v5', keepalive: 21 });
    expect(own).not.toHaveProperty('listener');
  }
});
