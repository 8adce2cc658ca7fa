import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { firstBroker, openFleet } from './page.ts';

/** A problem opens after some seconds, on a busy machine. */
const SLOW = { timeout: 60_000 };
const DEVICES = Array.from({ length: 20 }, (_, n) => `press-${n}`);

/** What a user wants to know or do, from the fleet. */
class Journey {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  static async start(page: Page, { url }: TestService): Promise<Journey> {
    await page.goto(`${url}/#/`);
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
    return new Journey(page);
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1;
    await target.click();
  }

  /** A number of problems may follow the name of a tab. */
  link = (name: string): Promise<void> =>
    this.click(this.page.getByRole('link', { name: new RegExp(`^${name}`) }).first());
  button = (name: string): Promise<void> => this.click(this.page.getByRole('button', { name }).last());
}

/** Two brokers of the service, of which the first one has 20 devices. */
async function plants() {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  const ask = async (document: string, input: object) => {
    const { data, errors } = await service.graphql(document, { input });
    expect(errors).toBeUndefined();
    return data;
  };
  const created = await ask(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { projectId: service.projectId, name: 'plant B' },
  );
  const second: string = created.createCloudBroker.broker.id;
  for (const username of DEVICES) {
    await ask('mutation ($input: CreateAccountInput!) { createAccount(input: $input) { outcome } }', {
      brokerId: broker.id,
      change: { username, password: 'of the device' },
    });
  }
  const isConnected = async () =>
    (await service.graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id: second })).data.broker
      .isConnected;
  await expect.poll(isConnected).toBe(true);
  return { service, broker, second, ask, page: await openFleet(service) };
}

describe.skipIf(!hasChromium)(hasChromium ? 'from the fleet' : CHROMIUM_MISSING, () => {
  test('the lost bridge, the client that floods and the top publishers are seen with two clicks at most', async () => {
    const { service, broker, ask, page } = await plants();
    await ask('mutation ($input: SetProblemThresholdsInput!) { setProblemThresholds(input: $input) { __typename } }', {
      projectId: service.projectId,
      clientMessagesPerSecond: 20,
    });
    await ask('mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }', {
      brokerId: broker.id,
      bridgeKey: 'mqtt-bridge',
      config: {
        connections: [{ name: 'to-graz', url: 'mqtt://127.0.0.1:9', topics: [{ pattern: '#', direction: 'out' }] }],
      },
    });
    const loud = await startClient(broker.url, { clientId: 'loud', username: 'admin', password: broker.password });
    const flood = setInterval(() => {
      for (let nth = 0; nth < 20; nth += 1) void loud.publishAsync('hall/1', 'x').catch(() => undefined);
    }, 100);
    try {
      const lost = await Journey.start(page, service);
      // On a slow machine its queue fills, which is a problem of its own.
      const bridge = page.getByRole('listitem').filter({ hasText: 'A bridge is not connected' });
      await bridge.getByText(broker.name).waitFor(SLOW);
      await lost.click(bridge.getByRole('link'));
      await page.getByRole('rowheader', { name: 'to-graz' }).waitFor();
      expect(lost.clicks).toBe(1);

      const floods = await Journey.start(page, service);
      const flooding = page.getByRole('listitem').filter({ hasText: 'loud' });
      await flooding.getByText(broker.name).waitFor(SLOW);
      await floods.click(flooding.getByRole('link'));
      await page.getByRole('heading', { name: 'loud' }).waitFor();
      expect(floods.clicks).toBe(1);

      // The same without the threshold, also for all clients in the list.
      const publishes = await Journey.start(page, service);
      await publishes.link(broker.name);
      await page.getByRole('region', { name: 'Clients with the most traffic' }).getByText('loud').waitFor();
      await publishes.link('Clients');
      const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'loud' }) });
      const rate = async () => Number(await row.getByRole('gridcell').nth(6).textContent());
      await expect.poll(rate, SLOW).toBeGreaterThan(1);
      await page.getByText('Rates of the last minute, counted by the broker itself').waitFor();
      expect(publishes.clicks).toBe(2);

      await page.goto(`${service.url}/?search=hall#/brokers/${broker.id}/topics`);
      await page.getByRole('columnheader', { name: 'Msgs/s' }).waitFor();
      const topic = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'hall/1' }) });
      await expect.poll(async () => Number(await topic.getByRole('cell').nth(3).textContent())).toBeGreaterThan(1);
    } finally {
      clearInterval(flood);
    }
  });

  test('changes, passwords, maintenance, evidence and a move of 20 devices take few clicks', async () => {
    const { service, broker, second, page } = await plants();
    const changed = await Journey.start(page, service);
    await changed.link('Audit');
    await changed.button('Any time');
    await changed.button('Since Friday');
    await page.getByRole('row').filter({ hasText: 'press-19' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'plant B' }).first().waitFor();
    expect(changed.clicks).toBe(3);

    const old = await Journey.start(page, service);
    await old.link('First project');
    await old.link('Passwords');
    await page.getByRole('rowheader', { name: 'press-0' }).waitFor();
    await old.link('Certificates');
    await page.getByText('0 in total').waitFor();
    expect(old.clicks).toBe(3);

    const maintenance = await Journey.start(page, service);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('silence plant b');
    await page.getByRole('option', { name: 'Silence plant B' }).waitFor();
    await page.keyboard.press('Enter');
    const silence = page.getByRole('dialog', { name: 'Silence problems of First project' });
    await expect.poll(() => silence.getByLabel('plant B').isChecked()).toBe(true);
    await page.keyboard.type('new pumps');
    await page.keyboard.press('Enter');
    await page.getByRole('row').filter({ hasText: 'new pumps' }).getByText('plant B').waitFor();
    expect(maintenance.clicks).toBe(0);

    // The service has known the broker since 2020.
    const { db } = service.storage;
    const at = new Date('2020-01-01T00:00:00Z');
    await db.broker.update({ where: { id: broker.id }, data: { createdAt: at } });
    const { sequence } = await db.auditEntry.findFirstOrThrow({ orderBy: { sequence: 'asc' } });
    await db.auditEntry.update({ where: { sequence }, data: { at } });
    const evidence = await Journey.start(page, service);
    await evidence.link(broker.name);
    await evidence.link('Check access');
    await evidence.link('List who can');
    await page.getByLabel('Topic').first().fill('plant/door');
    await page.getByLabel('On the day (optional)').fill('2026-01-15');
    await page.keyboard.press('Enter');
    await page.getByText('may have been different for:').waitFor();
    await page.getByText('the accounts press-0', { exact: false }).waitFor();
    expect(evidence.clicks).toBe(3);

    const move = await Journey.start(page, service);
    await move.link(broker.name);
    await move.link('Access');
    await move.click(page.getByLabel('All of this page'));
    await move.button('Move to another broker');
    const question = page.getByRole('dialog');
    await question.getByLabel('Broker that gets the accounts').selectOption(second);
    await question.getByText('Accounts that keep their password: 20').waitFor();
    await move.button('Copy the accounts');
    await page.getByRole('dialog', { name: 'The accounts are on plant B' }).waitFor();
    await move.button('Delete the accounts here');
    await page.getByRole('dialog', { name: 'Delete accounts of this broker: 20' }).waitFor();
    await move.button('Delete the accounts here');
    await page.getByRole('rowheader', { name: 'press-0' }).waitFor({ state: 'detached' });
    expect(move.clicks).toBe(7);
    const accounts = 'query ($id: ID!) { broker(id: $id) { accounts { nodes { username } } } }';
    const { nodes } = (await service.graphql(accounts, { id: second })).data.broker.accounts;
    expect(nodes.map(({ username }: { username: string }) => username)).toEqual(expect.arrayContaining(DEVICES));
  });
});
