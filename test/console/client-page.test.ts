import type { IClientOptions, MqttClient } from 'mqtt';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { addBroker } from '../domains/clients/graph/commercial-broker.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { ADMIN, FOLLOWED_LOG, startClient, startMosquitto } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { checkScreen, firstBroker, makeStrict, openBroker, openFleet } from './page.ts';

/** As awkward as an address can get. */
const PRESS = 'plant/press~1 %41?#';
const LOGIN = { username: 'press', password: 'p' };

const CREATE = `mutation ($reader: CreateAccessRoleInput!, $writer: CreateAccessRoleInput!, $group: CreateAccessGroupInput!, $account: CreateAccountInput!) {
  reader: createAccessRole(input: $reader) { outcome }
  writer: createAccessRole(input: $writer) { outcome }
  createAccessGroup(input: $group) { outcome }
  createAccount(input: $account) { outcome }
}`;

/** The account `press` may publish below `plant`, except to `plant/secret`, and reads there through a group. */
async function createAccess({ graphql }: TestService, brokerId: string): Promise<void> {
  const acl = (aclType: string, topic: string, allow = true) => ({ aclType, topic, allow, priority: allow ? 0 : 9 });
  const { errors } = await graphql(CREATE, {
    reader: {
      brokerId,
      change: {
        roleName: 'reader',
        acls: [acl('SUBSCRIBE_PATTERN', 'plant/#'), acl('PUBLISH_CLIENT_RECEIVE', 'plant/#')],
      },
    },
    writer: {
      brokerId,
      change: {
        roleName: 'writer',
        acls: [acl('PUBLISH_CLIENT_SEND', 'plant/#'), acl('PUBLISH_CLIENT_SEND', 'plant/secret', false)],
      },
    },
    group: { brokerId, change: { groupName: 'presses', roles: [{ roleName: 'reader' }] } },
    account: {
      brokerId,
      change: { ...LOGIN, roles: [{ roleName: 'writer' }], groups: [{ groupName: 'presses' }] },
    },
  });
  expect(errors).toBeUndefined();
}

async function startPress(options: IClientOptions = {}) {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  await createAccess(service, broker.id);
  const join = (): Promise<MqttClient> =>
    startClient(broker.url, { clientId: PRESS, ...LOGIN, protocolVersion: 5, keepalive: 42, ...options });
  return { service, broker, join };
}

async function openClient(page: Page, name: string, clientId: string): Promise<void> {
  await openBroker(page, name, 'Clients');
  await page.getByRole('link', { name: clientId, exact: true }).click();
  await page.getByRole('heading', { level: 2, name: clientId }).waitFor();
}

const state = (page: Page) => page.getByRole('heading', { level: 2 }).locator('..').getByRole('status');
const section = (page: Page, name: string) => page.getByRole('region', { name });
const fact = (page: Page, name: string) =>
  section(page, 'Now')
    .locator('dt')
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator('+ dd')
    .first();

const ended = (client: MqttClient) => new Promise<void>((resolve) => void client.once('close', () => resolve()));

describe.skipIf(!hasChromium)(hasChromium ? 'a client' : CHROMIUM_MISSING, () => {
  test('shows its connection, session, will, subscriptions and access, and at once that it leaves and returns', async () => {
    const { service, broker, join } = await startPress({
      will: { topic: 'plant/gone', payload: Buffer.from('bye'), qos: 1, retain: false },
    });
    const press = await join();
    await press.subscribeAsync('plant/+/state', { qos: 1 });
    const page = await openFleet(service);
    await openClient(page, broker.name, PRESS);
    await expect.poll(() => state(page).textContent()).toBe('connected');
    await expect.poll(() => fact(page, 'Account').textContent()).toBe('press');
    await expect.poll(() => fact(page, 'Protocol').textContent()).toBe('MQTT 5.0');
    await expect.poll(() => fact(page, 'Keep-alive').textContent()).toBe('42 s');
    await expect.poll(() => fact(page, 'Session').textContent()).toBe('ends with the connection');
    await expect.poll(() => fact(page, 'Will').textContent()).toBe('plant/gone: bye, QoS 1');
    await expect.poll(() => fact(page, 'Encryption').textContent()).toBe('none');
    // An address has the room that it needs: it is in one line, at every width.
    for (const width of [360, 768, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const { height } = (await fact(page, 'Address').boundingBox()) ?? {};
      expect({ width, height }).toEqual({ width, height: (await fact(page, 'Keep-alive').boundingBox())?.height });
    }
    await page.getByRole('row', { name: 'plant/+/state' }).waitFor();
    await press.publishAsync('plant/1', 'x', { qos: 1 });
    const received = page.getByRole('row', { name: 'Messages from the client' }).getByRole('cell').last();
    await expect.poll(() => received.textContent()).toBe('1');
    const access = section(page, 'Account, groups, roles and rules');
    await access.getByText('Roles of the group presses').waitFor();
    await access.getByText('writer, priority').click();
    await access.getByText('Denies to publish to plant/secret, priority 9').waitFor();

    await press.endAsync();
    await expect.poll(() => state(page).textContent()).toBe('not known to the broker');
    await page.getByText('mosquitto_sub').waitFor();
    await join();
    await expect.poll(() => state(page).textContent()).toBe('connected');
    await page.reload();
    await expect.poll(() => state(page).textContent()).toBe('connected');
  });

  test('shows what waits for it while it is offline', async () => {
    const { service, broker, join } = await startPress({ clean: false, properties: { sessionExpiryInterval: 600 } });
    const press = await join();
    await press.subscribeAsync('plant/jobs', { qos: 1 });
    await press.endAsync();
    const page = await openFleet(service);
    await openClient(page, broker.name, PRESS);
    await expect.poll(() => state(page).textContent()).toBe('offline');
    await page.getByText('Not connected, last seen').waitFor();
    expect(await page.getByRole('button', { name: 'Disconnect' }).count()).toBe(0);
    const other = await startClient(broker.url, { clientId: 'other', ...LOGIN });
    for (const job of ['a', 'b']) await other.publishAsync('plant/jobs', job, { qos: 1 });
    await expect.poll(() => fact(page, 'Messages waiting').textContent()).toMatch(/^2/);
    await page.getByRole('button', { name: 'Delete the session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 session' }).click();
    await expect.poll(() => state(page).textContent()).toBe('not known to the broker');
  });

  test('shows which rule decides on a topic, what would help, and what the broker refused', async () => {
    const { service, broker, join } = await startPress();
    const press = await join();
    await press.subscribeAsync('plant/+/state', { qos: 1 });
    const page = await openFleet(service);
    await openClient(page, broker.name, PRESS);
    const form = section(page, 'Test a topic');
    await form.getByLabel('Topic or topic filter').fill('plant/secret');
    await page.keyboard.press('Enter');
    await form.getByRole('status').getByText('Denied: press, publish, plant/secret').waitFor();
    await form.getByText('Role writer: deny to publish to plant/secret (priority 9)').waitFor();
    await form.getByText('What would help: change this rule').waitFor();
    await form.getByLabel('Topic or topic filter').fill('plant/1');
    await form.getByRole('button', { name: 'Test', exact: true }).click();
    await form.getByText('Allowed: press, publish, plant/1').waitFor();
    await form.getByLabel('The client wants to').selectOption('subscribe to');
    await form.getByLabel('Topic or topic filter').fill('other/#');
    await page.keyboard.press('Enter');
    await form.getByText('No rule matches, so the default access').waitFor();
    await page.reload();
    await form.getByText('No rule matches, so the default access').waitFor();
    await expect.poll(() => form.getByLabel('Topic or topic filter').inputValue()).toBe('other/#');
    // A change of access control is seen without a click.
    await form.getByLabel('As if it also had the role').fill('admin');
    await page.keyboard.press('Enter');
    await form.getByText('Would be allowed: press, subscribe, other/#').waitFor();

    await expect(press.publishAsync('plant/secret', 'x', { qos: 1 })).rejects.toThrow('Not authorized');
    const row = section(page, 'Denied').getByRole('row').filter({ hasText: 'plant/secret' });
    await row.getByText('access denied').waitFor();
    await row.getByText('writer: plant/secret').waitFor();
    await checkScreen(page, 'client');
    await row.getByRole('link', { name: 'Check access' }).click();
    await page.getByText('Denied: press, publish, plant/secret').waitFor();
  });

  test('is disconnected after a dry run, which names the others of its account where the broker needs that', async () => {
    const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
    const service = await startTestService();
    const brokerId = await addBroker(service, mosquitto.url, ADMIN);
    const known = 'query ($id: ID!) { broker(id: $id) { name connectedClients(first: 50) { isComplete totalCount } } }';
    const list = async () => (await service.graphql(known, { id: brokerId })).data.broker;
    // Clients that connect before the log is followed are unknown.
    await expect.poll(async () => (await list()).connectedClients?.isComplete).toBe(true);
    const { name } = await list();
    await createAccess(service, brokerId);
    const clients = await Promise.all(['p-1', 'p-2'].map((clientId) => mosquitto.client({ clientId, ...LOGIN })));
    const ends = clients.map(ended);
    const page = await openFleet(service);
    await openClient(page, name, 'p-1');
    await page.getByText('Why some values are unknown').click();
    await page.getByText('Mosquitto does not publish it').first().waitFor();
    await expect.poll(() => fact(page, 'Will').textContent()).toBe('unknown');
    await page.getByRole('button', { name: 'Disconnect' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Clients that would stay connected: 1').waitFor();
    await dialog.getByText('"p-2" would be disconnected too').waitFor();
    await dialog.getByLabel('Disconnect these as well').check();
    await dialog.getByText('1 other client uses the same accounts').waitFor();
    await dialog.getByRole('button', { name: 'Disconnect 1 client' }).focus();
    await page.keyboard.press('Enter');
    await Promise.all(ends);
    await dialog.getByText('Others of the same accounts').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => state(page).textContent()).toBe('not known to the broker');
  });

  test('has no button for a viewer that a strict project would refuse', async () => {
    const { service, broker, join } = await startPress();
    await join();
    await makeStrict(service);
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    await openClient(page, broker.name, PRESS);
    await page.getByText('writer, priority').waitFor();
    expect(await page.getByRole('button', { name: 'Disconnect' }).count()).toBe(0);
    await page.getByLabel('Topic or topic filter').fill('plant/1');
    await page.keyboard.press('Enter');
    await page.getByText('Allowed: press, publish, plant/1').waitFor();
  });
});
