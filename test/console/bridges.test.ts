import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { heardOn } from '../domains/streams/stream-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, makeStrict, openActions, openBroker, openFleet } from './page.ts';

/** The screen of the embedded broker, and a client of it. */
async function openBridges(role: 'root' | 'VIEWER' = 'root') {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  const client = await startClient(broker.url, { clientId: 'dev-1', username: 'admin', password: broker.password });
  await makeStrict(service);
  const page = await openFleet(service, role === 'root' ? service.root : (await service.person(role)).token);
  await openBroker(page, broker.name, 'Bridges');
  await page.getByText('No connection is configured.').first().waitFor();
  const configure = async (bridgeKey: string, connections: object[]) => {
    const { errors } = await service.graphql(
      'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }',
      { input: { brokerId: broker.id, bridgeKey, config: { connections } } },
    );
    expect(errors).toBeUndefined();
  };
  const config = async (key: string) => {
    const document = 'query ($b: ID!, $key: String!) { broker(id: $b) { bridge(key: $key) { config } } }';
    return (await service.graphql(document, { b: broker.id, key })).data.broker.bridge.config.connections;
  };
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  return { client, page, configure, config, row };
}

describe.skipIf(!hasChromium)(hasChromium ? 'the bridges' : CHROMIUM_MISSING, () => {
  test('are configured by a form with presets, followed live, changed and removed', async () => {
    const { client, page, config, row } = await openBridges();
    const other = await startMosquitto();
    const { until } = await heardOn(await other.client(), 'berlin/#');
    await page.getByRole('button', { name: 'Add a connection to MQTT' }).click();
    await page.getByRole('button', { name: 'AWS IoT Core' }).press('Enter');
    await page.getByLabel('Address').fill('a1b2-ats.iot.eu-central-1.amazonaws.com');
    await page.getByText('Connects to mqtts://a1b2-ats.iot.eu-central-1.amazonaws.com:8883').waitFor();
    await page.getByLabel('Private key (PEM)').waitFor();
    expect(await page.getByLabel('User name').isVisible()).toBe(false);
    await checkScreen(page, 'bridge-form-aws');
    await page.getByRole('button', { name: 'Mosquitto or another' }).click();
    await page.getByLabel('Name').first().fill('headquarters');
    await page.getByLabel('Address').fill(new URL(other.url).host);
    await page.getByText(`Connects to ${other.url}`).waitFor();
    await page.getByLabel('Topic filter').fill('plant/#');
    await page.getByLabel('Prefix at the other broker').fill('berlin/');
    await page.getByText('berlin/plant/#').waitFor();
    await page.getByLabel('User name').fill('plant');
    await page.getByLabel('Password').fill('a password');
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'accepts the credentials' })
      .getByRole('img', { name: 'passed' })
      .waitFor();
    // What was typed survives another screen, except for the password.
    await page.getByRole('link', { name: 'Streams' }).click();
    await page.goBack();
    await page.getByText('The form has what you typed before.').waitFor();
    await page.getByText('berlin/plant/#').waitFor();
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    await page.getByLabel('Password').fill('a password');
    await checkScreen(page, 'bridge-form');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await row('headquarters').getByText('connected', { exact: true }).waitFor();
    expect(await config('mqtt-bridge')).toMatchObject([
      {
        name: 'headquarters',
        password: '***',
        topics: [{ pattern: 'plant/#', direction: 'out', remotePrefix: 'berlin/' }],
      },
    ]);
    await client.publishAsync('plant/line1', 'running', { qos: 1 });
    expect(await until(1)).toMatchObject([{ topic: 'berlin/plant/line1', text: 'running' }]);
    // Of the row: state, since, queued, received, delivered.
    await expect.poll(() => row('headquarters').getByRole('cell').nth(4).textContent()).toBe('1');

    await other.stop();
    await row('headquarters').getByText('unreachable').waitFor();
    await client.publishAsync('plant/line2', 'waits', { qos: 1 });
    await expect.poll(() => row('headquarters').getByRole('cell').nth(2).textContent()).toBe('1');
    await openActions(page, 'headquarters');
    await page.getByRole('button', { name: 'Change headquarters' }).click();
    await page.getByLabel('Connect after saving').uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await row('headquarters').getByText('switched off').waitFor();
    expect(await config('mqtt-bridge')).toMatchObject([{ active: false, password: '***' }]);

    await openActions(page, 'headquarters');
    await page.getByRole('button', { name: 'Remove headquarters' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Queued messages that are deleted: 1').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove headquarters' }).press('Enter');
    await page.getByText('The connection headquarters is removed.').waitFor();
    await expect.poll(() => row('headquarters').count()).toBe(0);
    expect(await config('mqtt-bridge')).toEqual([]);
  });

  test('show the last rejection, and the form shows why the service refuses a configuration', async () => {
    const { client, page, configure, row } = await openBridges();
    const server = createServer((_request, response) => response.writeHead(422).end('no such line'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alarms`;
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    await configure('webhook-bridge', [{ name: 'alarms', url, secret, topics: ['plant/+/alarm'] }]);
    await row('alarms').getByText('connected', { exact: true }).waitFor();
    await client.publishAsync('plant/line1/alarm', 'hot', { qos: 1 });
    await row('alarms').getByText('422').waitFor();
    await checkScreen(page, 'bridges');
    await openActions(page, 'alarms');
    await page.getByRole('button', { name: 'Change alarms' }).click();
    // With the stored secret, which the form does not have.
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'does not redirect' })
      .getByRole('img', { name: 'passed' })
      .waitFor();
    await page.getByText('responded to OPTIONS with the status 422').waitFor();
    await page.getByLabel(/^Topics/).fill('a/#/b');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'Request' }).waitFor();
  });

  test('are shown to a VIEWER without buttons', async () => {
    const { client, page, configure, row } = await openBridges('VIEWER');
    const other = await startMosquitto();
    await configure('mqtt-bridge', [
      { name: 'headquarters', url: other.url, topics: [{ pattern: 'plant/#', direction: 'out' }] },
    ]);
    await row('headquarters').getByText('connected', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /Add|Change|Remove/ }).count()).toBe(0);
    // As many equal messages as those of a loop.
    for (let count = 0; count < 60; count += 1) await client.publishAsync('plant/a', 'x', { qos: 1 });
    await row('headquarters').getByText('"plant/a": equal messages come back').waitFor();
  });
});
