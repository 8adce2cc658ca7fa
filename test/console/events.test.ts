import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { embeddedBroker } from '../domains/clients/truth/observed-broker.ts';
import { dialMqtt } from '../domains/clients/truth/raw-client.ts';
import { coverageOf, eventsOf } from '../domains/history/event-pages.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, openFleet } from './page.ts';

const dial = (port: number, clientId: string, account: { username: string; password: string } | null = null) =>
  dialMqtt({ port, clientId, account, protocolVersion: 5, clean: true, expirySeconds: 0, keepalive: 600 });

const OPERATOR = { username: 'operator', password: 'a password' };
const table = (page: Page) => page.getByRole('region', { name: 'Events', exact: true });
const rowOf = (page: Page, text: string) => table(page).getByRole('row').filter({ hasText: text });
/** The client ids of the events that are shown. */
const clientsIn = (page: Page) => table(page).locator('tbody td:nth-child(3)').allTextContents();

describe.skipIf(!hasChromium)(hasChromium ? 'the events' : CHROMIUM_MISSING, () => {
  test('of a broker are live, and lead to the device', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}`);
    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByText('Recorded since').waitFor();
    const client = await dial(port, 'pump 1/a', OPERATOR);
    await rowOf(page, 'pump 1/a').waitFor();
    await client.disconnect();
    await rowOf(page, 'by the client, with DISCONNECT').filter({ hasText: 'pump 1/a' }).waitFor();
    await expect(dial(port, 'pump-3', { username: 'nobody', password: 'x' })).rejects.toThrow();
    await rowOf(page, 'a connection: unknown account').filter({ hasText: 'nobody' }).waitFor();
    await checkScreen(page, 'events');
    await rowOf(page, 'pump 1/a').getByRole('link', { name: 'pump 1/a' }).first().click();
    await page.getByRole('heading', { level: 2, name: 'pump 1/a' }).waitFor();
  });

  test('of a broker are filtered in the address', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    await (await dial(port, 'pump 1/a', OPERATOR)).disconnect();
    await (await dial(port, 'pump-2')).disconnect();
    await expect.poll(() => eventsOf(service, brokerId, { clientId: 'pump-2' })).toHaveLength(2);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}/events`);
    await rowOf(page, 'pump-2').first().waitFor();
    await page.getByLabel('Client id (exact)').fill('pump 1/a');
    await page.keyboard.press('Enter');
    await expect.poll(() => clientsIn(page)).toEqual(['pump 1/a', 'pump 1/a']);
    await page.reload();
    await expect.poll(() => clientsIn(page)).toEqual(['pump 1/a', 'pump 1/a']);
    await page.getByLabel('Kind').selectOption('disconnected');
    await expect.poll(() => clientsIn(page)).toEqual(['pump 1/a']);
    await page.goBack();
    await expect.poll(() => clientsIn(page)).toEqual(['pump 1/a', 'pump 1/a']);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByLabel('User name (exact)').fill('operator');
    await page.keyboard.press('Enter');
    await expect.poll(() => clientsIn(page)).toEqual(['pump 1/a', 'pump 1/a']);
    await page.getByRole('button', { name: 'Any time' }).click();
    await page.getByRole('button', { name: '7 days' }).click();
    await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).not.toBe('');
    expect(await page.getByLabel('User name (exact)').inputValue()).toBe('operator');
    await page.goto(`${service.url}/?client=nobody%2541#/brokers/${brokerId}/events`);
    await page.getByText('No recorded event matches the filter.').waitFor();
    expect(await page.getByLabel('Client id (exact)').inputValue()).toBe('nobody%41');
    await page.goto(`${service.url}/?from=yesterday#/brokers/${brokerId}/events`);
    await page.getByRole('alert').filter({ hasText: 'filter.from' }).waitFor();
  });

  test('of a project are paged in both directions, and name the broker', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const ids = Array.from({ length: 60 }, (_, number) => `c${number}`);
    for (const id of ids) await (await dial(port, id)).disconnect();
    const of = async () =>
      (await eventsOf(service, brokerId)).flatMap(({ clientId }) => (clientId?.startsWith('c') ? [clientId] : []));
    await expect.poll(async () => (await of()).length).toBe(120);
    const all = await of();
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/projects/${service.projectId}/events`);
    const clients = () => table(page).locator('tbody td:nth-child(4)').allTextContents();
    await expect.poll(clients).toEqual(all.slice(0, 50));
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(clients).toEqual(all.slice(50, 100));
    await page.reload();
    await expect.poll(clients).toEqual(all.slice(50, 100));
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(async () => (await clients()).slice(0, 20)).toEqual(all.slice(100));
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(clients).toEqual(all.slice(50, 100));
    await page.getByRole('button', { name: 'First page' }).click();
    await expect.poll(clients).toEqual(all.slice(0, 50));
    await checkScreen(page, 'events-project');
    const { name } = await service.storage.db.broker.findFirstOrThrow();
    await table(page).getByRole('link', { name }).first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await table(page).waitFor();
  });

  test('state the time of which nothing is known', async () => {
    const before = await embeddedBroker();
    const { brokerId } = before;
    await (await dial(before.port, 'early')).disconnect();
    await expect.poll(() => eventsOf(before.service, brokerId, { clientId: 'early' })).toHaveLength(2);
    await before.service.close();
    const service = await startTestService({ embeddedBroker: true, dataDir: before.service.config.dataDir });
    await expect.poll(async () => (await coverageOf(service, brokerId)).gaps.length).toBe(1);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}/events`);
    const gap = rowOf(page, 'Nothing is known between');
    await gap.getByText('Brokergraph did not run').waitFor();
    await rowOf(page, 'early').first().waitFor();
    // The newest first: the gap is after all that is known before it.
    const texts = await table(page).locator('tbody tr').allTextContents();
    const place = texts.findIndex((text) => text.includes('Nothing is known between'));
    expect(texts.findIndex((text) => text.includes('early'))).toBeGreaterThan(place);
    await checkScreen(page, 'events-gap');
  });
});
