import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startRelay } from '../support/relay.ts';
import { startTestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, openFleet } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the fleet' : CHROMIUM_MISSING, () => {
  test('shows brokers with their state, which follows a Mosquitto that stops, and a filter that a reload keeps', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const embedded = await firstBroker(service);
    const mosquitto = await startMosquitto();
    const page = await openFleet(service);
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
    await row(embedded.name).getByText('connected', { exact: true }).waitFor();
    await addBroker(service, mosquitto.url);
    await row('plant').getByText('connected', { exact: true }).waitFor();
    await checkScreen(page, 'fleet');
    await mosquitto.stop();
    await row('plant').getByText('unreachable').waitFor();

    // The service itself has connections as well.
    const clients = async () => Number(await row(embedded.name).getByRole('cell').nth(1).textContent());
    const ids = Array.from({ length: 5 }, (_, n) => `dev-${n}`);
    for (const clientId of ids) {
      await startClient(embedded.url, { clientId, username: 'admin', password: embedded.password });
    }
    await expect.poll(clients).toBeGreaterThanOrEqual(ids.length);
    await page.getByLabel('Filter by name').fill('plan');
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['plant']);
    await page.reload();
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['plant']);
  });

  test('says how to add the first broker of a project, and shows a person only what they may see', async () => {
    const service = await startTestService();
    const { token } = await service.person('VIEWER');
    const secret = await service.graphql('mutation { createProject(input: { name: "secret" }) { project { id } } }');
    expect(secret.errors).toBeUndefined();
    const page = await openFleet(service, token);
    await page.getByText(`/api/projects/${service.projectId}/brokers`).waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 2 }).count()).toBe(1);
  });

  test('shows 250 brokers in two steps, each with its state', async () => {
    const service = await startTestService();
    const { db, changes } = service.storage;
    const broker = {
      projectId: service.projectId,
      type: 'SELF_HOSTED',
      url: 'mqtt://127.0.0.1:1',
      trustedUrl: true,
    } as const;
    const data = Array.from({ length: 250 }, (_, n) => ({ ...broker, id: `brk_${n}`, name: `hall-${n}` }));
    await db.broker.createMany({ data });
    for (const { id } of data) await changes.announce('broker', id);
    const page = await openFleet(service);
    await page.getByText('200 of 250 brokers are shown.').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(250);
    const isUnreachable = page.getByText('unreachable', { exact: true });
    await expect.poll(() => isUnreachable.count(), { interval: 250 }).toBe(250);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  });

  test('says at once that its connection is lost, marks what is old, and goes on by itself', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const relay = await startRelay(Number(new URL(service.url).port));
    const page = await openFleet({ ...service, url: relay.url.replace('mqtt', 'http') });
    const state = page.getByRole('cell', { name: 'connected' });
    await state.waitFor();
    // Recorded in the page, because the console may connect again before the test looks.
    await page.evaluate(`
      window.seen = [];
      new MutationObserver(() => {
        const isLost = document.querySelector('[role=status]') !== null;
        const isStale = document.querySelector('.state.stale') !== null;
        window.seen.push(isLost + ' ' + isStale);
      }).observe(document.body, { childList: true, subtree: true, attributes: true });
    `);
    relay.cut();
    await expect.poll(() => page.evaluate('window.seen')).toContain('true true');
    await page.locator('.state.CONNECTED').waitFor();
    await page.getByRole('status').waitFor({ state: 'detached' });
  });
});
