import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startRelay } from '../support/relay.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openConsole, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the fleet' : CHROMIUM_MISSING, () => {
  test('shows brokers with their state, which follows a Mosquitto that stops, and a filter that a reload keeps', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const embedded = await firstBroker(service);
    const mosquitto = await startMosquitto();
    const page = await openConsole(service);
    await signIn(page);
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
    await row(embedded.name).getByText('connected', { exact: true }).waitFor();
    const added = await service.graphql(
      'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name: 'plant', url: `mqtt://127.0.0.1:${mosquitto.port}` } },
    );
    expect(added.errors).toBeUndefined();
    await row('plant').getByText('connected', { exact: true }).waitFor();
    await checkScreen(page, 'fleet');
    await mosquitto.stop();
    await row('plant').getByText('unreachable').waitFor();

    // The service itself has connections as well.
    const clients = async () => Number(await row(embedded.name).getByRole('cell').nth(1).textContent());
    const ids = Array.from({ length: 20 }, (_, n) => `dev-${n}`);
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
    const { email } = await service.person('VIEWER');
    const secret = await service.graphql('mutation { createProject(input: { name: "secret" }) { project { id } } }');
    expect(secret.errors).toBeUndefined();
    const page = await openConsole(service);
    await signIn(page, { email, password: PASSWORD });
    await page.getByText(`/api/projects/${service.projectId}/brokers`).waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 2 }).count()).toBe(1);
  });

  test('shows 250 brokers in two steps, each with its state', async () => {
    const service = await startTestService();
    const { projectId: project } = service;
    const add = (number: number) =>
      service.graphql('mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }', {
        input: { projectId: project, name: `hall-${number}`, url: 'mqtt://127.0.0.1:1' },
      });
    for (let number = 0; number < 250; number += 10) {
      const added = await Promise.all(Array.from({ length: 10 }, (_, index) => add(number + index)));
      expect(added.flatMap(({ errors = [] }) => errors)).toEqual([]);
    }
    const page = await openConsole(service);
    await signIn(page);
    await page.getByText('200 of 250 brokers are shown.').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(250);
    await expect.poll(() => page.getByText('unreachable', { exact: true }).count()).toBe(250);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  });

  test('says at once that its connection is lost, marks what is old, and goes on by itself', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const relay = await startRelay(Number(new URL(service.url).port));
    const page = await openConsole({ ...service, url: relay.url.replace('mqtt', 'http') });
    await signIn(page);
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
