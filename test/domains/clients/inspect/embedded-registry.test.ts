import { expect, onTestFinished, test } from 'vitest';
import { ClientRegistry } from '../../../../src/domains/clients/inspect/client-registry.ts';
import { inspectPlugin } from '../../../../src/domains/clients/inspect/inspect-plugin.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { ADMINISTRATOR, connect, startTestBroker } from '../../../data-plane/broker/embedded.ts';
import { connectedLink } from '../../../support/link.ts';

test('the embedded broker is observed through its own inspect API, including earlier clients', async () => {
  const broker = await startTestBroker();
  const port = broker.mqttPort;
  await connect(port, { clientId: 'earlier' });
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${port}`, ...ADMINISTRATOR });
  expect(link.protocolVersion).toBe(5);
  const controls = new BrokerControls(link, { timeoutMs: 30_000, plugins: [inspectPlugin] });
  const registry = new ClientRegistry(controls, link);
  onTestFinished(async () => {
    registry.close();
    await controls.close();
  });
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'BROKER' });
  const ids = async () => (await registry.page()).clients.map(({ clientid }) => clientid);
  expect(await ids()).toEqual([link.clientId, 'earlier'].sort());
  const later = await connect(port, { clientId: 'later' });
  await expect.poll(ids).toContain('later');
  await later.endAsync();
  await expect.poll(ids).toEqual([link.clientId, 'earlier'].sort());
  expect(await registry.page({ value: 'earl' })).toMatchObject({
    source: 'BROKER',
    complete: true,
    totalCount: 1,
  });
});
