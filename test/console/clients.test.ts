import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { isLong } from '../support/suite.ts';
import { leaveSessions } from './many-sessions.ts';
import { checkScreen, firstBroker, makeStrict, openActions, openBroker, openFleet } from './page.ts';

type Broker = Awaited<ReturnType<typeof firstBroker>>;

const device = ({ url, password }: Broker, clientId: string, options = {}) =>
  startClient(url, { clientId, username: 'admin', password, ...options });

async function openClients(page: Page, name: string): Promise<void> {
  await openBroker(page, name, 'Clients');
  await page.getByRole('grid').waitFor();
}

async function startClients(): Promise<{ service: TestService; broker: Broker; page: Page }> {
  const service = await startTestService({ embeddedBroker: true });
  const page = await openFleet(service);
  return { service, broker: await firstBroker(service), page };
}

const rowOf = (page: Page, clientId: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: clientId, exact: true }) });

/** The ids of the clients that the list shows. */
const shown = (page: Page): Promise<string[]> => page.getByRole('rowheader').getByRole('link').allTextContents();

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `dev-${String(n).padStart(4, '0')}`);

describe.skipIf(!hasChromium)(hasChromium ? 'the clients' : CHROMIUM_MISSING, () => {
  test('appear and leave by themselves, with their state and queue', async () => {
    const { broker, page } = await startClients();
    await openClients(page, broker.name);
    // Only the service itself is connected.
    await page.getByText('mosquitto_sub -h 127.0.0.1').waitFor();
    const sleepy = await device(broker, 'sleepy', { clean: false });
    await rowOf(page, 'sleepy').getByText('connected', { exact: true }).waitFor();
    expect(await page.getByText('mosquitto_sub').count()).toBe(0);
    await sleepy.subscribeAsync('jobs', { qos: 1 });
    await sleepy.endAsync();
    await rowOf(page, 'sleepy').getByText('offline').waitFor();
    const other = await device(broker, 'other');
    for (const job of ['a', 'b', 'c']) await other.publishAsync('jobs', job, { qos: 1 });
    await rowOf(page, 'sleepy').getByRole('gridcell', { name: '3', exact: true }).waitFor();
    await other.endAsync();
    await rowOf(page, 'other').waitFor({ state: 'detached' });
  });

  test('are filtered and sorted by the broker, which the address keeps', async () => {
    const { broker, page } = await startClients();
    for (const id of ['plant/1', 'plant/2', 'gate%41']) await device(broker, id);
    await device(broker, 'five', { protocolVersion: 5 });
    const sleepy = await device(broker, 'sleepy', { clean: false });
    await sleepy.subscribeAsync('jobs', { qos: 1 });
    await sleepy.endAsync();
    await openClients(page, broker.name);
    const text = page.getByLabel('Client id or account');
    await text.fill('plant');
    await expect.poll(() => shown(page)).toEqual(['plant/1', 'plant/2']);
    await page.getByRole('columnheader', { name: 'Client' }).getByRole('button').click();
    await expect.poll(() => shown(page)).toEqual(['plant/2', 'plant/1']);
    await page.reload();
    await expect.poll(() => shown(page)).toEqual(['plant/2', 'plant/1']);
    await page.getByRole('link', { name: 'plant/2' }).click();
    await page.goBack();
    await expect.poll(() => shown(page)).toEqual(['plant/2', 'plant/1']);
    await expect.poll(() => text.inputValue()).toBe('plant');
    await text.fill('gate%41');
    await expect.poll(() => shown(page)).toEqual(['gate%41']);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await rowOf(page, 'five').waitFor();
    expect(new URL(page.url()).searchParams.has('text')).toBe(false);
    await page.getByLabel('State').selectOption('offline');
    await expect.poll(() => shown(page)).toEqual(['sleepy']);
    await page.getByLabel('State').selectOption('any');
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('MQTT version').selectOption('5.0');
    await expect.poll(() => shown(page)).not.toContain('plant/1');
    expect(await shown(page)).toContain('five');
    await page.getByLabel('MQTT version').selectOption('any');
    const other = await device(broker, 'other');
    await other.publishAsync('jobs', 'a', { qos: 1 });
    await page.getByLabel('Queued, at least').fill('1');
    await expect.poll(() => shown(page)).toEqual(['sleepy']);
    await page.getByLabel('Queued, at least').fill('2');
    await page.getByText('No client matches the filter.').waitFor();
    await other.publishAsync('jobs', 'b', { qos: 1 });
    await expect.poll(() => shown(page)).toEqual(['sleepy']);
    await page.getByLabel('Queued, at least').fill('');
    await page.getByLabel('Address or network').fill('10.0.0.0/8');
    await page.getByText('No client matches the filter.').waitFor();
    await page.getByLabel('Address or network').fill('10.0.0');
    await page.getByText('must be an IP address').waitFor();
    await page.getByLabel('Address or network').fill('127.0.0.0/8');
    await rowOf(page, 'five').waitFor();
    await page.getByLabel('Sort by').selectOption('Dropped messages');
    await page.getByRole('columnheader', { name: 'Dropped' }).waitFor();
    await rowOf(page, 'five').waitFor();
  });

  test('are few in the page even if there are thousands, and the keyboard reaches each', async () => {
    const { broker, page } = await startClients();
    const ids = numbered(isLong ? 1_500 : 300);
    await leaveSessions(broker, ids);
    await openClients(page, broker.name);
    const grid = page.getByRole('grid');
    await page.getByLabel('State').selectOption('offline');
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe(String(ids.length + 1));
    await rowOf(page, 'dev-0000').waitFor();
    expect(await page.getByRole('row').count()).toBeLessThanOrEqual(60);
    await grid.focus();
    const current = () => page.locator('tr[aria-selected=true]').getByRole('rowheader').textContent();
    for (const [key, id] of [
      ['ArrowDown', 'dev-0001'],
      ['End', ids.at(-1)],
      ['ArrowUp', ids.at(-2)],
      ['Home', 'dev-0000'],
    ] as const) {
      await page.keyboard.press(key);
      await expect.poll(current).toBe(id);
      expect(await page.getByRole('row').count()).toBeLessThanOrEqual(60);
    }
    await page.keyboard.press('PageDown');
    await page.keyboard.press('PageDown');
    await expect.poll(current).toMatch(/dev-00[1-5]\d/);
    const chosen = await current();
    const index = ids.indexOf(String(chosen)) + 2;
    await expect.poll(() => page.locator('tr[aria-selected=true]').getAttribute('aria-rowindex')).toBe(String(index));
    await page.keyboard.press('PageUp');
    await page.keyboard.press('PageUp');
    await expect.poll(current).toBe('dev-0000');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: 'dev-0001' }).waitFor();
    await page.goBack();
    await rowOf(page, 'dev-0000').waitFor();
    await checkScreen(page, 'clients');
  });

  test('are saved as CSV in pages, and copied as operations', async () => {
    const { broker, page } = await startClients();
    const ids = [...numbered(1_000), '=1+1', 'a"b,c'];
    await leaveSessions(broker, ids);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await openClients(page, broker.name);
    await page.getByLabel('State').selectOption('offline');
    await page.getByText('1,002 clients').waitFor();
    await page.getByRole('columnheader', { name: 'Bytes out/s' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const lines = readFileSync(await (await download).path(), 'utf8').split('\r\n');
    expect(lines).toHaveLength(ids.length + 2);
    expect(lines[0]).toBe(
      'Client,State,Account,Address,Protocol,Last connect,Queued,Received/s,Delivered/s,Bytes in/s,Bytes out/s',
    );
    expect(lines.some((line) => line.startsWith("'=1+1,offline,admin,"))).toBe(true);
    expect(lines.some((line) => line.startsWith('"a""b,c",offline'))).toBe(true);
    await page.getByRole('button', { name: 'curl' }).click();
    const command = await page.evaluate('navigator.clipboard.readText()');
    expect(command).toContain('"filter":{"isConnected":false}');
  });

  test('are disconnected by filter after a dry run that names them', async () => {
    const { broker, page } = await startClients();
    const left = ['dev-1', 'dev-2', 'dev-3'];
    const willOf = (id: string) => ({ will: { topic: `wills/${id}`, payload: '', qos: 1, retain: false } });
    const clients = await Promise.all([...left, 'gate'].map((id) => device(broker, id, willOf(id))));
    const heard: string[] = [];
    clients[3]?.on('message', (topic) => heard.push(topic));
    await clients[3]?.subscribeAsync('wills/+', { qos: 1 });
    const closed = clients.map((client) => new Promise((resolve) => void client.once('close', () => resolve(true))));
    await openClients(page, broker.name);
    await page.getByLabel('Client id or account').fill('dev-');
    await expect.poll(() => shown(page)).toEqual(left);
    const open = page.getByRole('button', { name: /^Disconnect \d+ clients/ });
    await open.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('3 connected clients would lose their connection.').waitFor();
    await expect.poll(() => dialog.getByRole('listitem').allTextContents()).toEqual(left);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await open.click();
    await dialog.getByLabel('Discard their wills').check();
    await dialog.getByRole('button', { name: 'Disconnect 3 clients' }).click();
    await dialog.getByText('Disconnected').waitFor();
    await Promise.all(closed.slice(0, 3));
    await clients[3]?.publishAsync('wills/end', '', { qos: 1 });
    await expect.poll(() => heard).toEqual(['wills/end']);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('No client matches the filter.').waitFor();
    // The connections of the service itself stay.
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await open.click();
    await dialog.getByText('would stay connected: ').waitFor();
    await dialog.getByText('is a connection of this service itself').waitFor();
  });

  test('lose their offline sessions by row and by filter', async () => {
    const { broker, page } = await startClients();
    for (const id of ['dev-1', 'dev-2', 'dev-3']) await (await device(broker, id, { clean: false })).endAsync();
    await device(broker, 'dev-4', { clean: false });
    await openClients(page, broker.name);
    await openActions(page, 'dev-2');
    await page.getByRole('button', { name: 'Delete the session' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('listitem').allTextContents()).toEqual(['dev-2']);
    await dialog.getByRole('button', { name: 'Delete 1 session' }).click();
    await page.getByText('1 session deleted').waitFor();
    await page.getByLabel('Client id or account').fill('dev-');
    await expect.poll(() => shown(page)).toEqual(['dev-1', 'dev-3', 'dev-4']);
    await page.getByRole('button', { name: 'Delete offline sessions' }).click();
    await expect.poll(() => dialog.getByRole('listitem').allTextContents()).toEqual(['dev-1', 'dev-3']);
    await dialog.getByRole('button', { name: 'Delete 2 sessions' }).click();
    await expect.poll(() => shown(page)).toEqual(['dev-4']);
    expect(await page.getByRole('button', { name: /session/ }).count()).toBe(0);
    // The menu of a connected client disconnects it.
    await openActions(page, 'dev-4');
    await page.getByRole('button', { name: 'Disconnect …', exact: true }).click();
    await expect.poll(() => dialog.getByRole('listitem').allTextContents()).toEqual(['dev-4']);
    await dialog.getByRole('button', { name: 'Disconnect 1 client' }).click();
    await dialog.getByText('Disconnected', { exact: true }).waitFor();
  });

  test('are named up to 10 before they are disconnected, and the others are counted', async () => {
    const { broker, page } = await startClients();
    const ids = numbered(23);
    await Promise.all(ids.map((id) => device(broker, id)));
    await openClients(page, broker.name);
    await page.getByLabel('Client id or account').fill('dev-');
    await page.getByRole('button', { name: 'Disconnect 23 clients' }).click();
    const names = page.getByRole('dialog').getByRole('listitem');
    await names.getByText('and 13 more').waitFor();
    await expect.poll(() => names.allTextContents()).toEqual([...ids.slice(0, 10), 'and 13 more']);
    await checkScreen(page, 'clients-many-disconnect');
  });

  test('have buttons that disconnect in a colour of their own, filled where it is confirmed', async () => {
    const { broker, page } = await startClients();
    await device(broker, 'dev-1');
    await openClients(page, broker.name);
    await page.getByLabel('Client id or account').fill('dev-1');
    await expect.poll(() => shown(page)).toEqual(['dev-1']);
    const look = (selector: string) =>
      page.evaluate(
        `(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('${selector}')))`,
      ) as Promise<string[]>;
    const open = page.getByRole('button', { name: 'Disconnect 1 client …' });
    await open.click();
    const confirm = page.getByRole('button', { name: 'Disconnect 1 client', exact: true });
    await expect.poll(() => confirm.isEnabled()).toBe(true);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const [normalLook, openLook, confirmLook] = [
        await look('.bar button:not(.danger)'),
        await look('.bar button.danger'),
        await look('dialog button[type=submit]'),
      ];
      expect(openLook[0]).not.toBe(normalLook[0]);
      expect(openLook[1]).not.toBe(confirmLook[1]);
      // The colour that the opener is written in fills the button that confirms.
      expect(confirmLook[1]).toBe(openLook[0]);
      expect(confirmLook[0]).not.toBe(confirmLook[1]);
    }
    await checkScreen(page, 'clients-disconnect');
  });

  test('show a viewer no button that a strict project would refuse', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    await device(broker, 'dev-1');
    await makeStrict(service);
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    await openClients(page, broker.name);
    await rowOf(page, 'dev-1').waitFor();
    await page.getByRole('button', { name: 'Save as CSV' }).waitFor();
    expect(await page.getByRole('button', { name: 'Disconnect' }).count()).toBe(0);
  });
});
