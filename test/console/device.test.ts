import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientPath } from '../../console/clients/client-address.ts';
import { embeddedBroker, mosquittoBroker } from '../domains/clients/truth/observed-broker.ts';
import { dialMqtt } from '../domains/clients/truth/raw-client.ts';
import { eventsOf } from '../domains/history/event-pages.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { ROOT } from '../support/service.ts';
import { checkScreen, openFleet } from './page.ts';

const OPERATOR = { username: 'operator', password: 'a password' };
/** As awkward as an address can get. */
const ODD = 'plant/press~1 %41?#';

const dial = (port: number, clientId: string, account: { username: string; password: string } | null = OPERATOR) =>
  dialMqtt({ port, clientId, account, protocolVersion: 5, clean: true, expirySeconds: 0, keepalive: 600 });

const KICK = 'mutation ($input: DisconnectClientInput!) { disconnectClient(input: $input) { clientId } }';

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
/** Of the events of the client that is shown. */
const rowsOf = (page: Page, clientId: string) => section(page, `Events of ${clientId}`).getByRole('row');
const badge = (page: Page) => page.getByRole('heading', { level: 2 }).locator('..').getByRole('status');

/** Opens the page of a client id by the search. `kind`: what the search calls it. */
async function find(page: Page, clientId: string, kind: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Screens, actions' }).fill(clientId);
  await page.getByRole('option', { name: `${kind} ${clientId}` }).click();
  await page.getByRole('heading', { level: 2, name: clientId, exact: true }).waitFor();
}

/** Gives the page a zone in which it is night now. */
async function makeNight(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  onTestFinished(() => session.detach());
  const ahead = (26 - new Date().getUTCHours()) % 24;
  // Zones of this form have the opposite sign, and reach 14 hours ahead and 12 hours back.
  const timezoneId = ahead > 14 ? `Etc/GMT+${24 - ahead}` : `Etc/GMT-${ahead}`;
  await session.send('Emulation.setTimezoneOverride', { timezoneId });
}

describe.skipIf(!hasChromium)(hasChromium ? 'a device' : CHROMIUM_MISSING, () => {
  test('shows what it does, what it was denied, what happened, its traffic and its rights', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const client = await startClient(`mqtt://127.0.0.1:${port}`, { clientId: ODD, ...OPERATOR, protocolVersion: 5 });
    await client.subscribeAsync('plant/+/state');
    await client.publishAsync('plant/secret', 'x', { qos: 1 }).catch(() => undefined);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}/clients`);
    await page.getByRole('link', { name: ODD, exact: true }).click();
    await section(page, 'Now').getByText('Connected since').waitFor();
    await section(page, 'Now').getByRole('link', { name: 'operator' }).waitFor();
    await section(page, 'Denied').getByText('plant/secret', { exact: true }).waitFor();
    await rowsOf(page, ODD).filter({ hasText: 'a publish on plant/secret: access denied' }).waitFor();
    await rowsOf(page, ODD)
      .filter({ hasText: `MQTT, port ${port}` })
      .waitFor();
    await page.getByRole('row', { name: 'Messages from the client' }).getByText('1', { exact: true }).first().waitFor();
    await page.getByRole('row', { name: 'plant/+/state' }).waitFor();
    const titles = await page.locator('main section > h3').allTextContents();
    const places = ['Now', 'Denied', 'Events', 'Traffic', 'Subscriptions (1)', 'Account, groups, roles and rules'];
    expect(titles.filter((title) => places.includes(title))).toEqual(places);
    await checkScreen(page, 'device');
  });

  test('shows at once that it was disconnected and by which caller, and keeps what is known of it', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const client = await startClient(`mqtt://127.0.0.1:${port}`, { clientId: ODD, ...OPERATOR, protocolVersion: 5 });
    const page = await openFleet(service);
    await page.goto(`${service.url}/#${clientPath(brokerId, ODD)}`);
    await section(page, 'Now').getByText('Connected since').waitFor();
    const ended = new Promise<void>((resolve) => void client.once('close', () => resolve()));
    const { errors } = await service.graphql(KICK, { input: { brokerId, clientId: ODD } });
    expect(errors).toBeUndefined();
    await ended;
    await client.endAsync(true);
    await section(page, 'Now').getByText('Not connected, last seen').waitFor();
    const kicked = rowsOf(page, ODD).filter({ hasText: 'disconnected' }).filter({ hasText: ROOT.email });
    await page.reload();
    await kicked.getByRole('link', { name: `by ${ROOT.email}` }).click();
    await page.getByRole('region', { name: 'Audit' }).getByText('Disconnect a client').waitFor();
    // Its day, and the entry.
    expect(await page.getByRole('rowheader').count()).toBe(2);
    await page.goBack();

    // Who is away has the account of its last event, and access is checked with it.
    await section(page, 'Account, groups, roles and rules').getByRole('link', { name: 'operator' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Check access' }).last().click();
    await expect.poll(() => page.getByLabel('Client id', { exact: true }).inputValue()).toBe(ODD);
    expect(await page.getByLabel('Account', { exact: true }).inputValue()).toBe('operator');
  });

  test('that was only denied in the last night is found by its client id, with the reason', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const nobody = { username: 'nobody', password: 'x' };
    for (let attempt = 0; attempt < 3; attempt += 1) await expect(dial(port, 'pump-9', nobody)).rejects.toThrow();
    await expect.poll(() => eventsOf(service, brokerId, { clientId: 'pump-9' })).not.toEqual([]);
    const page = await openFleet(service);
    await makeNight(page);
    await page.reload();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await find(page, 'pump-9', 'Client');
    await section(page, 'Now').getByText('Never seen since').waitFor();
    await section(page, 'Now').getByText('Its last attempt was denied').waitFor();
    await section(page, 'Denied').getByText('Create the account "nobody"').waitFor();
    const denied = rowsOf(page, 'pump-9').filter({ hasText: 'a connection: unknown account' });
    await denied.waitFor();

    await page.getByRole('button', { name: 'Any time' }).press('Enter');
    await page.getByRole('button', { name: 'Last night' }).press('Enter');
    await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).toMatch(/ 20:00/);
    expect(await page.getByLabel('To', { exact: true }).inputValue()).toMatch(/ 08:00/);
    await denied.waitFor();
    expect(new URL(page.url()).searchParams.get('from')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    await page.reload();
    await denied.waitFor();
    await checkScreen(page, 'device-denied');
    await page.getByLabel('Kind').selectOption('connected');
    await page.getByText('No recorded event matches the filter.').waitFor();
    await page.goBack();
    await denied.waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(() => page.getByLabel('From', { exact: true }).inputValue()).toBe('');
  });

  test('that never connected has a page that says since when, and shows at once that it connects', async () => {
    const { service, port } = await embeddedBroker();
    const page = await openFleet(service);
    await find(page, 'ghost 1', 'Look up client id');
    await section(page, 'Now').getByText('Never seen since').waitFor();
    await page.getByText('No event of this client is recorded.').waitFor();
    await page.getByText('No user name of this client is known.').waitFor();
    await page.getByText('It had no traffic in the last hour.').waitFor();
    await checkScreen(page, 'device-unseen');
    const client = await dial(port, 'ghost 1');
    await expect.poll(() => badge(page).textContent()).toBe('connected');
    await rowsOf(page, 'ghost 1')
      .filter({ hasText: `MQTT, port ${port}` })
      .waitFor();
    await client.disconnect();
    await rowsOf(page, 'ghost 1').filter({ hasText: 'by the client, with DISCONNECT' }).waitFor();

    // A filter that finds no client leads there, too.
    await page.getByRole('link', { name: '← Clients' }).click();
    await page.getByLabel('Client id or account').fill('ghost 2');
    await page.getByRole('link', { name: 'What is known of ghost 2' }).click();
    await section(page, 'Now').getByText('Never seen since').waitFor();
  });

  test('of Mosquitto has no traffic and says why, and is the last known when the broker is away', async () => {
    const { service, brokerId, port, mosquitto } = await mosquittoBroker();
    await dial(port, 'valve', null);
    await expect.poll(() => eventsOf(service, brokerId, { clientId: 'valve' })).not.toEqual([]);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}/clients/valve`);
    await section(page, 'Now').getByText('Connected since').waitFor();
    await rowsOf(page, 'valve').filter({ hasText: 'connected' }).waitFor();
    await page.getByText('The broker does not report the traffic of single clients').waitFor();
    await mosquitto.stop();
    await section(page, 'Now').getByText('The broker is not connected').waitFor();
    await expect.poll(() => badge(page).getAttribute('class')).toBe('stale');
    expect(await page.getByRole('button', { name: 'Disconnect' }).count()).toBe(0);
    await rowsOf(page, 'valve').filter({ hasText: 'connected' }).first().waitFor();
    await page.getByText('not live').waitFor();
    // A will that the broker did not report is still unknown.
    await section(page, 'Now').getByRole('definition').filter({ hasText: 'unknown' }).first().waitFor();
    await page.reload();
    await section(page, 'Now').getByText('whether the client is connected is unknown').waitFor();
    await section(page, 'Now').getByText('Last seen').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await rowsOf(page, 'valve').filter({ hasText: 'connected' }).first().waitFor();
  });

  test('says to a viewer that who disconnected it is in the audit, and is not shown to others', async () => {
    const { service, brokerId, port } = await embeddedBroker();
    const client = await dial(port, 'pump-1');
    await service.graphql(KICK, { input: { brokerId, clientId: 'pump-1' } });
    await client.closed;
    const viewer = await service.person('VIEWER');
    const page = await openFleet(service, viewer.token);
    await page.goto(`${service.url}/#/brokers/${brokerId}/clients/pump-1`);
    const kicked = rowsOf(page, 'pump-1').filter({ hasText: 'Who it was is in the audit, which you may not read.' });
    await kicked.waitFor();
    expect(await kicked.getByText(ROOT.email).count()).toBe(0);

    const stranger = await service.person(null);
    await page.context().addCookies([{ name: 'brokergraph-session', value: stranger.token, url: service.url }]);
    await page.reload();
    await page.getByText('This broker does not exist, or you may not see it.').waitFor();
    expect(await page.getByText('pump-1').count()).toBe(0);
  });
});
