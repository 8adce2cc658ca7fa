import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { TEMPLATE_EXAMPLES } from '../../console/notifications/template-examples.ts';
import {
  closeProblem,
  openProblem,
  type Receiver,
  startReceiver,
} from '../domains/notifications/notification-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { addBroker, checkScreen, openActions, openConsole, openFleet, signIn } from './page.ts';

const dialog = (page: Page) => page.getByRole('dialog');
const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

const open = async (page: Page, { url, projectId }: TestService, screen: string) => {
  await page.goto(`${url}/#/projects/${projectId}/${screen}`);
  await page.getByText('Your role').waitFor();
};

async function act(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions: On call' }).click();
  const menu = page.locator('.menu:popover-open');
  await menu.getByText(action, { exact: true }).click();
}

/** Messages begin after the service has noted its position. */
const isReady = ({ storage }: TestService) => expect.poll(() => storage.db.notificationPosition.count()).toBe(1);

async function createWebhook(page: Page, receiver: Receiver): Promise<string> {
  await page.getByRole('button', { name: 'Create channel' }).press('Enter');
  await page.getByLabel('Name', { exact: true }).fill('On call');
  await page.getByLabel(/^URL/).fill(`${receiver.url}/hook`);
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByLabel('Headers: name 1').fill('X-Team');
  await page.getByLabel('Headers: value 1').fill('night shift');
  // What was typed survives another screen.
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('button', { name: 'Add member' }).waitFor();
  await page.goBack();
  await page.getByText('The form has what you typed before.').waitFor();
  expect(await page.getByLabel(/^URL/).inputValue()).toBe(`${receiver.url}/hook`);
  await page.getByLabel('critical').check();
  await checkScreen(page, 'channel-form');
  await page.getByRole('button', { name: 'Create channel' }).click();
  await dialog(page).getByText('Secret of On call').waitFor();
  const secret = (await dialog(page).locator('pre').textContent()) ?? '';
  expect(secret).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  expect(await page.content()).not.toContain(secret);
  return secret;
}

describe.skipIf(!hasChromium)(hasChromium ? 'notification channels' : CHROMIUM_MISSING, () => {
  test('are created with a secret that is shown once, tested, followed, changed, switched off and deleted', async () => {
    const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
    const page = await openConsole(service);
    await signIn(page);
    await open(page, service, 'notifications');
    await page.getByText('Nobody is notified of problems yet').waitFor();
    const secret = await createWebhook(page, receiver);
    await row(page, 'On call').getByText('none yet').waitFor();
    await isReady(service);

    await act(page, 'Test');
    await dialog(page).getByRole('button', { name: 'Send the test' }).click();
    await dialog(page).getByText('The receiver has accepted the message.').waitFor();
    await page.keyboard.press('Escape');
    const [tested] = receiver.requests;
    expect(tested?.headers).toMatchObject({ 'x-team': 'night shift' });
    expect(new Webhook(secret).verify(tested?.text ?? '', tested?.headers as Record<string, string>)).toMatchObject({
      type: 'test',
    });

    await openProblem(service, 'to-cloud');
    await row(page, 'On call').getByText('delivered').waitFor();
    await checkScreen(page, 'project-notifications');
    receiver.respond = (response) => void response.writeHead(503).end('later, please');
    await closeProblem(service, 'to-cloud');
    await page.getByRole('link', { name: 'On call' }).click();
    const failing = row(page, '#2');
    await failing.getByText('failing, is repeated').waitFor();
    await failing.getByText('Over: A bridge is not connected: to-cloud').waitFor();
    await failing.getByText('Response').click();
    await failing.getByText('later, please').waitFor();
    await checkScreen(page, 'channel');

    // A day later.
    const { db, changes } = service.storage;
    await db.notificationDelivery.updateMany({
      where: { state: 'PENDING' },
      data: { startedAt: new Date(Date.now() - 25 * 3_600_000), nextAttemptAt: new Date(), attempts: 10 },
    });
    const { id } = await db.notificationChannel.findFirstOrThrow();
    await changes.announce('notification-channel', id);
    await page.getByLabel('State').selectOption('DEAD');
    await failing.getByText('dead letter').waitFor();
    receiver.respond = (response) => void response.writeHead(204).end();
    await openActions(page, '2');
    await page.getByRole('button', { name: 'Send again: message 2' }).click();
    await expect.poll(() => failing.count()).toBe(0);
    await page.getByLabel('State').selectOption('DELIVERED');
    await failing.getByText('delivered').waitFor();

    await act(page, 'Change');
    await page.getByLabel('Replace the target').check();
    await page.getByLabel(/^URL/).fill('https://hooks.slack.com/services/x');
    await page.getByLabel('Body').selectOption('a template');
    await page.getByRole('button', { name: 'PagerDuty' }).click();
    expect(await page.getByLabel('Credentials of the template: name 1').inputValue()).toBe('routingKey');
    await page.getByRole('button', { name: 'Slack' }).click();
    await page.getByLabel('Replace the target').uncheck();
    await page.getByLabel(/^Minimum duration/).fill('30');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('after 30 s').waitFor();
    expect(JSON.parse((await db.notificationChannel.findFirstOrThrow()).rules)).toMatchObject({
      severities: ['CRITICAL'],
      minimumSeconds: 30,
    });
    await act(page, 'Switch off');
    await page.getByText('On call is off.').waitFor();
    await act(page, 'Delete');
    await dialog(page).getByRole('button', { name: 'Delete On call' }).click();
    await page.getByText('Nobody is notified of problems yet').waitFor();
    expect(await db.notificationChannel.count()).toBe(0);
  });

  test('can be freed from brokers that were deleted', async () => {
    const service = await startTestService();
    const [kept, gone] = [
      await addBroker(service, 'mqtt://127.0.0.1:1', { name: 'kept' }),
      await addBroker(service, 'mqtt://127.0.0.1:2', { name: 'gone' }),
    ];
    const run = async (document: string, variables: Record<string, unknown>) => {
      expect((await service.graphql(document, variables)).errors).toBeUndefined();
    };
    const target = { webhook: { url: 'http://127.0.0.1:1/hook' } };
    const input = { projectId: service.projectId, name: 'On call', rules: { brokerIds: [kept, gone] }, target };
    await run(
      'mutation ($input: CreateNotificationChannelInput!) { createNotificationChannel(input: $input) { notificationChannel { id } } }',
      { input },
    );
    await run('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id: gone });
    const page = await openFleet(service);
    await open(page, service, 'notifications');
    await act(page, 'Change');
    expect(await page.getByLabel('kept', { exact: true }).isChecked()).toBe(true);
    await page.getByLabel('a deleted broker').click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('On call is saved.').waitFor();
    const { rules } = await service.storage.db.notificationChannel.findFirstOrThrow();
    expect(JSON.parse(rules).brokerIds).toEqual([kept]);
  });

  test('of the service itself have the same screens for root administrators, without brokers', async () => {
    const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
    const page = await openFleet(service);
    await page.getByRole('link', { name: 'Notifications' }).click();
    await page.getByText('Problems of the service itself').waitFor();
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Operators');
    await page.getByLabel(/^URL/).fill(`${receiver.url}/hook`);
    expect(await page.getByRole('option', { name: 'E-mail' }).count()).toBe(1);
    expect(await page.getByRole('option', { name: 'MQTT' }).count()).toBe(0);
    expect(await page.getByLabel('A bridge is not connected').count()).toBe(0);
    await page.getByLabel('The database does not respond').check();
    await checkScreen(page, 'service-channel-form');
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await row(page, 'Operators').getByText('The database does not respond').waitFor();
    const { projectId, rules } = await service.storage.db.notificationChannel.findFirstOrThrow();
    expect([projectId, JSON.parse(rules).kinds]).toEqual([null, ['DATABASE_AWAY']]);
    await page.getByRole('link', { name: 'Operators' }).click();
    await page.getByText('The channel has no messages yet').waitFor();
    expect(page.url()).toContain('#/notifications/');
  });

  test('are not offered to viewers, who see problems, silences and thresholds but cannot change them', async () => {
    const service = await startTestService();
    const { token } = await service.person('VIEWER');
    await openProblem(service, 'to-cloud');
    const page = await openFleet(service, token);
    const title = 'A bridge is not connected';
    await page.getByRole('link', { name: title }).waitFor();
    expect(await page.getByRole('button', { name: /^Actions/ }).count()).toBe(0);
    await open(page, service, 'problems');
    await page.getByRole('link', { name: title }).waitFor();
    expect(await page.getByRole('button', { name: /^Actions/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Notifications' }).count()).toBe(0);
    await open(page, service, 'silences');
    await page.getByText('Nothing is silent').waitFor();
    expect(await page.getByRole('button', { name: 'Begin a silence' }).count()).toBe(0);
    await page.goto(`${service.url}/#/notifications`);
    await page.getByRole('alert').waitFor();
    await open(page, service, '');
    const tokens = page.getByLabel(/^Days before a token expires/);
    expect(await tokens.isEditable()).toBe(false);
    expect(await page.getByRole('button', { name: 'Set thresholds' }).count()).toBe(0);
  });
});

test('the templates that the console offers are those of the documentation', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/notifications.md'), 'utf8');
  for (const [name, template] of Object.entries(TEMPLATE_EXAMPLES)) {
    expect(text.slice(text.indexOf(`### ${name}`))).toContain(`\`\`\`mustache\n${template}\n\`\`\``);
  }
});
