import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openBroker, openConsole, signIn } from './page.ts';

type Broker = Awaited<ReturnType<typeof firstBroker>>;

const device = ({ url, password }: Broker, clientId: string, options = {}) =>
  startClient(url, { clientId, username: 'admin', password, ...options });

async function openClients(page: Page, name: string): Promise<void> {
  await openBroker(page, name);
  await page.getByRole('link', { name: 'Clients' }).click();
}

const rowOf = (page: Page, clientId: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: clientId, exact: true }) });
const rowIndex = (page: Page) => page.locator('tr[aria-selected=true]').getAttribute('aria-rowindex');

describe.skipIf(!hasChromium)(hasChromium ? 'the clients' : CHROMIUM_MISSING, () => {
  test('appear and leave within a second, with their state, queue and number', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const page = await openConsole(service);
    await signIn(page);
    await openClients(page, broker.name);
    // The service itself is connected.
    await page.getByText('A connection of this service itself').or(page.getByTitle('A connection')).first().waitFor();
    await expect.poll(() => page.locator('.clients-bar [role=status]').textContent()).toMatch(/connected/);
    const started = performance.now();
    const sleepy = await device(broker, 'sleepy', { clean: false });
    await rowOf(page, 'sleepy').getByText('connected', { exact: true }).waitFor();
    expect(performance.now() - started).toBeLessThan(2_000);
    await sleepy.subscribeAsync('jobs', { qos: 1 });
    await sleepy.endAsync();
    await rowOf(page, 'sleepy').getByText('offline').waitFor();
    const other = await device(broker, 'other');
    for (const job of ['a', 'b', 'c']) await other.publishAsync('jobs', job, { qos: 1 });
    await rowOf(page, 'sleepy').getByRole('gridcell', { name: '3', exact: true }).waitFor();
    await other.endAsync();
    await rowOf(page, 'other').waitFor({ state: 'detached' });
  });
});
