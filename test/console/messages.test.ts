import type { IPublishPacket } from 'mqtt';
import { describe, expect, test } from 'vitest';
import { retained } from '../domains/messages/retained-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, openBroker, openFleet } from './page.ts';

/** JSON that JavaScript would write otherwise. */
const EXACT = '{"id":9007199254740993, "v":[21.20,1e400,-0], "d":{"a":1,"a":"\\u00fc"}, "e":{}}';
const INDENTED = `{
  "id": 9007199254740993,
  "v": [
    21.20,
    1e400,
    -0
  ],
  "d": {
    "a": 1,
    "a": "\\u00fc"
  },
  "e": {}
}`;

/** The screen of the embedded broker, and a client of it. */
async function openMessages(role: 'root' | 'VIEWER' = 'root') {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  const client = await startClient(broker.url, { clientId: 'dev-1', username: 'admin', password: broker.password });
  const page = await openFleet(service, role === 'root' ? service.root : (await service.person(role)).token);
  await openBroker(page, broker.name, 'Messages');
  /** Follows a filter by keyboard, until its events arrive. */
  const follow = async (filter: string) => {
    await page.getByLabel('Topic filter', { exact: true }).fill(filter);
    await page.keyboard.press('Enter');
    await page.getByRole('row').filter({ hasText: filter }).getByText('live', { exact: true }).waitFor();
  };
  const topics = () => page.getByRole('region', { name: 'Messages', exact: true }).getByRole('button');
  return { service, brokerId: broker.id, client, page, follow, topics };
}

describe.skipIf(!hasChromium)(hasChromium ? 'the messages' : CHROMIUM_MISSING, () => {
  test('arrive within a second, in all formats, with the difference to the previous one, and can be paused', async () => {
    const { client, page, follow } = await openMessages();
    await follow('plant/+/state');
    await client.publishAsync('plant/line1/state', '{"state":"running","speed":7}', { qos: 1 });
    const first = page.getByRole('button', { name: 'plant/line1/state', exact: true }).first();
    await first.waitFor();
    await client.publishAsync('office/door', 'open', { qos: 1 });
    await client.publishAsync('plant/line1/state', '{"state":"stopped","speed":7}', { qos: 1 });
    await page.getByText('stopped').waitFor();
    expect(await page.getByRole('main').textContent()).not.toContain('office/door');
    await first.focus();
    await page.keyboard.press('Enter');
    const changes = page.getByRole('region', { name: 'Changed since' });
    await expect.poll(() => changes.locator('del').allTextContents()).toEqual(['-   "state": "running",\n']);
    await expect.poll(() => changes.locator('ins').allTextContents()).toEqual(['+   "state": "stopped",\n']);

    await page.getByRole('button', { name: 'Pause' }).focus();
    await page.keyboard.press('Space');
    await client.publishAsync('plant/line2/state', Buffer.from([0xff, 0x00, 0x41]), { qos: 1 });
    await page.getByText('New messages: 1').waitFor();
    expect(await page.getByRole('button', { name: 'plant/line2/state' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'plant/line2/state' }).click();
    const payload = page.getByRole('region', { name: 'Payload', exact: true });
    await expect.poll(() => payload.textContent()).toBe('ff 00 41');
    await client.publishAsync('plant/exact/state', EXACT, { qos: 1 });
    await page.getByRole('button', { name: 'plant/exact/state' }).click();
    await page.getByLabel('Format').selectOption('JSON');
    await expect.poll(() => payload.textContent()).toBe(INDENTED);
    await page.getByRole('button', { name: 'plant/line2/state' }).click();
    await page.getByLabel('Format').selectOption('Base64');
    await expect.poll(() => payload.textContent()).toBe('/wBB');

    await page.getByLabel('Filter what is shown').fill('line2');
    await expect.poll(() => page.getByRole('button', { name: 'plant/line1/state' }).count()).toBe(0);
    await page.reload();
    await page.getByText('live', { exact: true }).waitFor();
    await expect.poll(() => page.getByLabel('Filter what is shown').inputValue()).toBe('line2');
    await expect.poll(() => page.getByLabel('Format').inputValue()).toBe('base64');
  });

  test('beyond the limit are left out, which is counted, and the list is bounded', async () => {
    const { client, page, follow } = await openMessages();
    await follow('plant/#');
    await follow('office/#');
    await page.getByLabel('Rate limit').selectOption('At most 10/s');
    const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'plant/#' }) });
    await row.getByText('live', { exact: true }).waitFor();
    const topics = Array.from({ length: 200 }, (_, n) => `plant/line${n}`);
    await Promise.all(topics.map((topic) => client.publishAsync(topic, 'running', { qos: 1 })));
    const number = async (column: number) => Number(await row.getByRole('cell').nth(column).textContent());
    await expect.poll(async () => (await number(1)) + (await number(2))).toBe(200);
    expect(await number(2)).toBeGreaterThan(0);
    await page.getByText('The newest 500 messages are listed').waitFor();
    await checkScreen(page, 'messages');
    await page.getByRole('button', { name: 'Remove plant/#' }).click();
    await expect.poll(() => page.getByRole('rowheader', { name: 'plant/#' }).count()).toBe(0);
  });

  test('say why a filter is refused', async () => {
    const { page } = await openMessages();
    await page.getByLabel('Topic filter', { exact: true }).fill('a/#/b');
    await page.getByRole('button', { name: 'Follow', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'a/#/b' }).getByText('last level').waitFor();
  });

  test('arrive without a reload once a broker runs that could not be reached at first', async () => {
    const service = await startTestService();
    const mosquitto = await startMosquitto();
    await addBroker(service, mosquitto.url);
    await mosquitto.stop();
    const page = await openFleet(service);
    await openBroker(page, 'plant', 'Messages');
    await page.getByLabel('Topic filter', { exact: true }).fill('plant/#');
    await page.keyboard.press('Enter');
    const row = page.getByRole('row').filter({ hasText: 'plant/#' });
    await row.getByText('cannot be reached').waitFor();
    await mosquitto.start();
    await row.getByText('live', { exact: true }).waitFor({ timeout: 60_000 });
    await (await mosquitto.client()).publishAsync('plant/state', 'running', { qos: 1 });
    await page.getByRole('button', { name: 'plant/state', exact: true }).waitFor();
  });

  test('are published with properties, after a check that sends nothing, and the screen says what the broker reported', async () => {
    const service = await startTestService();
    const mosquitto = await startMosquitto();
    const client = await mosquitto.client({ protocolVersion: 5 });
    await client.subscribeAsync('plant/#', { qos: 1 });
    const brokerId = await addBroker(service, mosquitto.url);
    const page = await openFleet(service);
    await page.getByText('connected', { exact: true }).waitFor();
    await openBroker(page, 'plant', 'Messages');
    await page.getByText('Publish a message').click();
    await page.getByLabel('Topic', { exact: true }).fill('plant/setpoint');
    await page.getByLabel('Payload', { exact: true }).fill('{"speed": }');
    await page.getByLabel('Kind of payload').selectOption('JSON');
    await page.getByRole('button', { name: 'Check only' }).click();
    await page.getByText('The payload is not JSON').waitFor();
    await page.getByLabel('Payload', { exact: true }).fill(EXACT);
    await page.getByLabel('Retain for future').check();
    await page.getByText('Properties (MQTT 5)').click();
    await page.getByLabel('Content type').fill('application/json');
    await page.getByLabel('User properties').fill('line: 1\n__proto__: odd');
    await page.getByRole('button', { name: 'Check only' }).click();
    await page.getByText('nothing was sent').waitFor();
    expect((await retained({ service, brokerId })).nodes).toEqual([]);

    const arrived = new Promise<{ text: string; properties: IPublishPacket['properties'] }>((resolve) => {
      client.on('message', (topic, payload, { properties }) => resolve({ text: `${topic} ${payload}`, properties }));
    });
    await page.getByRole('button', { name: 'Publish', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The broker acknowledged the message.').waitFor();
    await checkScreen(page, 'publish');
    const { text, properties } = await arrived;
    expect([text, properties?.contentType]).toEqual([`plant/setpoint ${EXACT}`, 'application/json']);
    expect(Object.entries(properties?.userProperties ?? {})).toContainEqual(['line', '1']);
    expect((await retained({ service, brokerId })).nodes).toMatchObject([{ payload: EXACT }]);
    await page.getByLabel('Topic', { exact: true }).fill('elsewhere');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('no subscription matches').waitFor();
  });

  test('are neither shown to a VIEWER nor published by one', async () => {
    const { page } = await openMessages('VIEWER');
    await page.getByText('requires the role EDITOR').waitFor();
    expect(await page.getByText('Publish a message').count()).toBe(0);
    expect(await page.getByLabel('Topic filter', { exact: true }).count()).toBe(0);
  });
});
