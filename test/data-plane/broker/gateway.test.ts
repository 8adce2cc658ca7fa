import { expect, onTestFinished, test } from 'vitest';
import {
  createStream,
  getStream,
  onStreamChanged,
  replayStream,
} from '../../../src/data-plane/streams/control/stream-control.ts';
import { DEFAULT_DEFINITION } from '../../../src/data-plane/streams/model/stream-definition.ts';
import type { StreamReport } from '../../../src/data-plane/streams/model/stream-report.ts';
import { getClient, listClients } from '../../../src/protocol/apis/clients/inspect-control.ts';
import { parseClientsChanged } from '../../../src/protocol/apis/clients/inspect-parser.ts';
import { BrokerControls } from '../../../src/protocol/control/broker-controls.ts';
import { connectedLink, openLink, reached } from '../../support/link.ts';
import { ADMINISTRATOR, connect, startBrokerHere } from './embedded.ts';

test('the link and the control client of this service use the embedded broker like any other', async () => {
  const { mqttPort } = await startBrokerHere();
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${mqttPort}`, ...ADMINISTRATOR });
  const controls = new BrokerControls(link, { timeoutMs: 30_000 });
  onTestFinished(() => controls.close());
  expect(link.protocolVersion).toBe(5);
  for (const api of [
    'broker',
    'dynamic-security',
    'cedalo/inspect',
    'cedalo/client-control',
    'cedalo/license',
    'stream-processing',
  ] as const) {
    expect(await controls.capability(api)).toMatchObject({ provider: 'BROKER' });
  }
  expect(await controls.capability('cedalo/ha')).toMatchObject({ provider: 'NONE' });

  const told = new Promise<void>((resolve) => {
    controls.onEvent('cedalo/inspect', (event) => {
      if (parseClientsChanged(event)?.changed.some(({ clientid }) => clientid === 'device')) resolve();
    });
  });
  // The event listener is heard once its subscription is acknowledged, as this request then is too.
  await listClients(controls);
  await connect(mqttPort, { clientId: 'device' });
  await told;
  const { clients, totalCount } = await listClients(controls);
  expect(totalCount).toBe(2);
  expect(clients.map(({ clientid }) => clientid).sort()).toEqual([link.clientId, 'device'].sort());
  expect(await getClient(controls, 'device')).toMatchObject({ connected: true, numSubscriptions: 0 });
  await expect(getClient(controls, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(controls.call('cedalo/inspect', 'noSuchCommand')).rejects.toMatchObject({ code: expect.any(String) });
});

test('streams of the embedded broker are created, watched and replayed like streams of any broker', async () => {
  const { mqttPort } = await startBrokerHere();
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${mqttPort}`, ...ADMINISTRATOR });
  const controls = new BrokerControls(link, { timeoutMs: 30_000 });
  onTestFinished(() => controls.close());
  const replayed = new Promise<StreamReport>((resolve) => {
    onStreamChanged(controls, 'fast', (report) => {
      if (report.replay?.state === 'DONE') resolve(report);
    });
  });
  const definition = { ...DEFAULT_DEFINITION, name: 'fast', sourceTopic: 'line/+', persist: true, textName: 'Fast' };
  await createStream(controls, definition);
  const device = await connect(mqttPort);
  await device.publishAsync('line/1', '{"speed":1}', { qos: 1 });
  const { report, ...entry } = await getStream(controls, 'fast');
  expect(entry).toEqual({ definition, replaying: false });
  expect(report).toMatchObject({ state: 'RUNNING', counters: { stored: 1 }, storage: { messages: 1 } });
  const request = { topic: 'again', from: null, to: null, limit: null, speed: 'fastest', reverse: false } as const;
  await replayStream(controls, 'fast', request);
  expect((await replayed).replay).toMatchObject({ published: 1, total: 1, request });
  const again = { ...definition, targetTopic: 'line/2' };
  await expect(createStream(controls, again)).rejects.toMatchObject({ code: 'INVALID' });
  await expect(createStream(controls, definition)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
});

test('the link reports a refused password', async () => {
  const { mqttPort } = await startBrokerHere();
  const link = openLink({ url: `mqtt://127.0.0.1:${mqttPort}`, username: 'admin', password: 'wrong' });
  expect(await reached(link, 'UNAUTHORIZED')).toMatchObject({ state: 'UNAUTHORIZED' });
});
