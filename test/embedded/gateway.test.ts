import { expect, onTestFinished, test } from 'vitest';
import { getClient, listClients, parseClientsChanged } from '../../src/clients/inspect/inspect-control.ts';
import { BrokerControls } from '../../src/control/broker-controls.ts';
import { connectedLink, openLink, reached } from '../support/link.ts';
import { ADMINISTRATOR, connect, startTestBroker } from './embedded.ts';

test('the link and the control client of this service use the embedded broker like any other', async () => {
  const { mqttPort } = await startTestBroker();
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${mqttPort}`, ...ADMINISTRATOR });
  const controls = new BrokerControls(link, { timeoutMs: 5_000 });
  onTestFinished(() => controls.close());
  expect(link.protocolVersion).toBe(5);
  for (const api of [
    'broker',
    'dynamic-security',
    'cedalo/inspect',
    'cedalo/client-control',
    'cedalo/license',
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

test('a refused password is told as such by the link', async () => {
  const { mqttPort } = await startTestBroker();
  const link = openLink({ url: `mqtt://127.0.0.1:${mqttPort}`, username: 'admin', password: 'wrong' });
  expect(await reached(link, 'UNAUTHORISED')).toMatchObject({ state: 'UNAUTHORISED' });
});
