import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { METRICS, type MetricSample } from '../../src/data-plane/history/metrics/metric.ts';
import { METRICS_MODULE, type MetricQueries } from '../../src/data-plane/history/metrics/metrics-module.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, openBroker, openFleet, queriesOf } from './page.ts';

const MINUTE_MS = 60_000;
const EVERY_MS = 10_000;

/** Stores the last minutes of a broker, except for the five after the half hour. */
async function fillHistory({ services }: TestService, brokerId: string, minutes = 50): Promise<void> {
  const { history } = services;
  const metrics = history.module<MetricSample, MetricQueries>(METRICS_MODULE);
  const now = Math.floor(Date.now() / EVERY_MS) * EVERY_MS;
  let published = 0;
  let isContinued = false;
  for (let at = now - minutes * MINUTE_MS; at <= now; at += EVERY_MS) {
    published += 100 + ((at / EVERY_MS) % 50);
    const ago = now - at;
    if (ago < 30 * MINUTE_MS && ago > 25 * MINUTE_MS) {
      isContinued = false;
      continue;
    }
    const values = METRICS.map((metric) => {
      if (metric === 'clients') return 20 + ((at / EVERY_MS) % 7);
      return metric === 'messagesIn' ? published : 0;
    });
    metrics.insert({ brokerId, at, uptimeSeconds: 86_400 - ago / 1_000, isContinued, values }, at, 400);
    isContinued = true;
  }
  await history.flush();
}

const plotOf = (page: Page, title: string) => page.getByRole('slider', { name: title, exact: true });

async function drag(page: Page, title: string, from: number, to: number): Promise<void> {
  const box = await plotOf(page, title).boundingBox();
  if (box === null) throw new Error('The chart is not shown');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 3 });
  await page.mouse.up();
}

describe.skipIf(!hasChromium)(hasChromium ? 'charts' : CHROMIUM_MISSING, () => {
  test('ranges and zoom change the address and the query, and "back" returns', async () => {
    const service = await startTestService();
    const id = await addBroker(service, 'mqtt://127.0.0.1:1');
    await fillHistory(service, id);
    const page = await openFleet(service);
    const queries = queriesOf(page);
    await openBroker(page, 'plant');
    const last = () => queries.findLast(({ name }) => name === 'MetricsOfBroker')?.variables;
    const shownMinutes = () => (Date.parse(String(last()?.to)) - Date.parse(String(last()?.from))) / MINUTE_MS;
    await expect.poll(shownMinutes).toBe(60);
    await expect.poll(() => page.locator('.plot .line').first().getAttribute('d')).toMatch(/^M.*L/);
    // Where nothing was measured, lines are interrupted.
    await expect.poll(() => page.locator('.plot').first().locator('.gap').count()).toBeGreaterThanOrEqual(2);
    expect((await page.locator('.plot .line').first().getAttribute('d'))?.split('M').length).toBeGreaterThan(2);
    await checkScreen(page, 'charts');

    for (const [range, minutes, address] of [
      ['10 min', 10, 'range=10m'],
      ['24 h', 1_440, 'range=24h'],
      ['7 days', 10_080, 'range=7d'],
      ['30 days', 43_200, 'range=30d'],
      ['1 h', 60, 'range=1h'],
    ] as const) {
      await page.getByRole('button', { name: range, exact: true }).click();
      await expect.poll(shownMinutes).toBe(minutes);
      expect(page.url()).toContain(address);
    }
    await page.getByRole('button', { name: 'Last night' }).click();
    // It starts yesterday at 20:00, also if it is not over.
    await expect.poll(shownMinutes).toBeGreaterThanOrEqual(4 * 60 - 1);
    expect(await page.evaluate(`new Date('${last()?.from}').getHours()`)).toBe(20);
    expect(page.url()).toMatch(/from=.*&to=/);
    await page.goBack();
    await expect.poll(shownMinutes).toBe(60);

    // A day ends where the next one starts. Of this day, only what has been is shown.
    await page.getByRole('button', { name: 'From – to' }).click();
    const today = page.locator('.calendar [aria-current=date]');
    await today.click();
    await today.click();
    const [from, to] = ['From', 'To'].map((label) => page.getByLabel(label, { exact: true }));
    const days = { from: await from?.inputValue(), to: await to?.inputValue() };
    expect(Date.parse(`${days.to}Z`) - Date.parse(`${days.from}Z`)).toBe(24 * 60 * MINUTE_MS);
    const monthAgo = new Date(Date.now() - 30 * 24 * 60 * MINUTE_MS).toISOString().slice(0, 10);
    await from?.fill(`${monthAgo} 00:00`);
    await page.getByRole('button', { name: 'Apply' }).click();
    const begin = await page.evaluate(`new Date('${monthAgo}T00:00').toISOString()`);
    await expect.poll(() => last()?.from).toBe(begin);
    expect(Date.parse(String(last()?.to))).toBeLessThanOrEqual(Date.now());
    await page.goBack();
    await expect.poll(shownMinutes).toBe(60);

    await drag(page, 'Clients', 0.4, 0.8);
    await expect.poll(() => page.url()).toMatch(/from=.*&to=/);
    await expect.poll(shownMinutes).toBeLessThan(35);
    expect(new URL(page.url()).searchParams.get('from')).toBe(last()?.from);
    const zoomed = page.url();
    await page.reload();
    await expect.poll(() => plotOf(page, 'Clients').count()).toBe(1);
    expect(page.url()).toBe(zoomed);

    const before = shownMinutes();
    await plotOf(page, 'Clients').focus();
    await page.keyboard.press('-');
    await expect.poll(shownMinutes).toBeGreaterThan(before);
    await page.keyboard.press('+');
    await expect.poll(shownMinutes).toBe(before);
  });

  test('of a broker that is new show the shortest range with all that is known, and since when that is', async () => {
    const service = await startTestService();
    const id = await addBroker(service, 'mqtt://127.0.0.1:1');
    await fillHistory(service, id, 5);
    const page = await openFleet(service);
    await openBroker(page, 'plant');
    const isPressed = (name: string) => page.getByRole('button', { name, exact: true }).getAttribute('aria-pressed');
    await expect.poll(() => isPressed('10 min')).toBe('true');
    await page.getByText('Measured since').waitFor();
    // A range that a person chooses stays.
    await page.getByRole('button', { name: '1 h', exact: true }).click();
    await expect.poll(() => isPressed('1 h')).toBe('true');
    await page.getByText('Measured since').waitFor();
    await page.reload();
    await expect.poll(() => isPressed('1 h')).toBe('true');
  });

  test('the crosshair shows the values of all charts at one time, by pointer and by keys', async () => {
    const service = await startTestService();
    const id = await addBroker(service, 'mqtt://127.0.0.1:1');
    await fillHistory(service, id);
    const page = await openFleet(service);
    await openBroker(page, 'plant');
    const clients = plotOf(page, 'Clients');
    await expect.poll(() => clients.getAttribute('aria-valuetext')).toMatch(/connected 2\d/);
    const summary = await clients.getAttribute('aria-describedby');
    const texts = await page.locator(`[id="${summary?.split(' ')[0]}"]`).textContent();
    expect(texts).toMatch(/connected: lowest 20, highest 26/);
    await clients.hover({ position: { x: 120, y: 60 } });
    await expect.poll(() => page.locator('.crosshair').count()).toBe(6);
    await page.mouse.move(0, 0);
    await expect.poll(() => page.locator('.crosshair').count()).toBe(0);

    await clients.focus();
    await page.keyboard.press('End');
    const end = await clients.getAttribute('aria-valuetext');
    await page.keyboard.press('Shift+ArrowLeft');
    await expect.poll(() => clients.getAttribute('aria-valuetext')).not.toBe(end);
    expect(await page.locator('.crosshair').count()).toBe(6);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.crosshair').count()).toBe(0);

    await page.getByText('Messages per second as a table').click();
    const table = page.getByRole('region', { name: 'Messages per second', exact: true });
    await table.getByRole('columnheader', { name: 'received, highest' }).waitFor();
    expect(await table.getByRole('row').count()).toBeGreaterThan(100);
  });

  test('changes are marked, and lead to their entry of the audit; a VIEWER reads that there may be some', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { id, name } = await firstBroker(service);
    const update = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';
    const { errors } = await service.graphql(update, { input: { brokerId: id, description: 'Hall 4' } });
    expect(errors).toBeUndefined();
    const page = await openFleet(service);
    await openBroker(page, name);
    await expect.poll(() => page.locator('.mark-sign').count()).toBeGreaterThanOrEqual(6);
    await page.getByText(/^Changes in this time/).click();
    await page.getByText('The broker started').waitFor();
    await page.getByRole('link', { name: 'Change a broker (root@example.com)' }).last().click();
    await expect.poll(() => page.url()).toContain('/audit');
    await page.getByRole('row').filter({ hasText: 'Change a broker' }).waitFor();

    const viewer = await openFleet(service, (await service.person('VIEWER')).token);
    await openBroker(viewer, name);
    await viewer.getByText('Administrators of the project also see here what was changed.').waitFor();
  });

  test('the clients and the topics with the most traffic have their source and completeness', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { url, name, password } = await firstBroker(service);
    const client = await startClient(url, { clientId: 'loud', username: 'admin', password });
    for (let nth = 0; nth < 20; nth++) await client.publishAsync('hall/1', 'x', { qos: 1 });
    const page = await openFleet(service);
    await openBroker(page, name);
    const clients = page.getByRole('region', { name: 'Clients with the most traffic' });
    await clients.getByText('loud').waitFor();
    await clients.getByText('Exact and complete.').waitFor();
    await page.getByRole('region', { name: 'Topics with the most messages' }).getByText('hall/1').waitFor();
    await page.getByRole('button', { name: 'Last hour' }).click();
    await page.getByText('Counted by the broker itself').waitFor();
    await clients.getByRole('link', { name: 'loud' }).click();
    await page.getByRole('heading', { name: 'loud' }).waitFor();
  });
});
