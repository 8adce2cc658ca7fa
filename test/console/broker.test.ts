import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { dynsecDone } from '../data-plane/broker/dynsec.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN, startClient, startMosquitto } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, openActions, openBroker, openFleet } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the overview of a broker' : CHROMIUM_MISSING, () => {
  test('shows the numbers as the broker publishes them, the last minutes as charts and tables, and what is missing', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const page = await openFleet(service);
    await openBroker(page, broker.name);
    const number = (title: string) => page.locator('.figures > div').filter({ hasText: title }).locator('strong');
    await number('Clients').waitFor();
    const clients = async () => Number(await number('Clients').textContent());
    const screens = page.getByRole('navigation', { name: 'Screens of the broker' }).getByRole('link');
    expect((await screens.allTextContents()).slice(0, 3)).toEqual(['Overview', 'Clients', 'Denied']);
    for (const clientId of ['dev-1', 'dev-2', 'dev-3']) {
      await startClient(broker.url, { clientId, username: 'admin', password: broker.password });
    }
    await expect.poll(clients).toBeGreaterThanOrEqual(3);

    await expect.poll(() => page.locator('.chart .plot svg').count()).toBe(6);
    const table = page.getByRole('region', { name: 'Clients', exact: true });
    await page.getByText('Clients as a table').focus();
    await page.keyboard.press('Enter');
    await expect
      .poll(async () => Number(await table.getByRole('cell').first().textContent()))
      .toBeGreaterThanOrEqual(3);

    await page.getByRole('row').filter({ hasText: 'MQTT over TCP' }).getByText(new URL(broker.url).port).waitFor();
    const capability = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'dynamic-security' }) });
    await capability.getByText('the broker').waitFor();
    await page.getByText('run by this service').waitFor();
    await page.getByRole('definition').getByText(hostname(), { exact: true }).waitFor();
    await page.getByText('does not expire').waitFor();
    // Rates need a second publication of the numbers.
    await expect.poll(() => number('Received/s').textContent()).not.toBe('–');
    await expect.poll(() => number('Denied in 1 h').textContent()).toBe('0');
    await page.getByText(/^running for .* · brokergraph embedded/).waitFor();
    await checkScreen(page, 'broker');
    await capability.getByText('✓').waitFor();

    const listeners = page.getByRole('region', { name: 'Listeners' });
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add a listener' }).click();
    await dialog.getByLabel('Protocol').selectOption('MQTT over WebSocket');
    const [first, port] = [await freePort(), await freePort()];
    await dialog.getByLabel('Port').fill(String(first));
    await dialog.getByRole('button', { name: 'Add a listener' }).click();
    await openActions(listeners, String(first));
    await listeners.getByRole('button', { name: `Change the port ${first}` }).click();
    await dialog.getByLabel('Port').fill(String(port));
    await dialog.getByRole('button', { name: 'Save' }).click();
    const added = listeners.getByRole('row').filter({ hasText: String(port) });
    await added.getByText('MQTT over WebSocket').waitFor();
    await openActions(added, String(port));
    await added.getByRole('button', { name: `Remove the listener on port ${port}` }).click();
    await dialog.getByText('The broker starts again').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await added.waitFor({ state: 'detached' });
  });

  test('says for a plain Mosquitto what would help, and follows its connection', async () => {
    const service = await startTestService();
    const mosquitto = await startMosquitto();
    await addBroker(service, mosquitto.url);
    const page = await openFleet(service);
    await openBroker(page, 'plant');
    const state = page.locator('header.place > .state');
    await expect.poll(() => state.textContent()).toBe('connected');
    await page.getByRole('definition').getByText('mosquitto version 2').waitFor();
    const capability = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'dynamic-security' }) });
    await capability.getByText('not available').waitFor();
    expect((await capability.getByRole('cell').last().textContent())?.length).toBeGreaterThan(10);
    // Which client floods is not known. The setting that names it is said, and recorded topics are listed.
    await page.getByText('set log_type debug and log_dest file or stdout').waitFor();
    await page.getByRole('button', { name: 'Record topics' }).click();
    const client = await startClient(mosquitto.url, { clientId: 'noisy' });
    const recorded = page.getByRole('region', { name: 'Recorded topics with the most messages' });
    await expect
      .poll(async () => {
        await client.publishAsync('plant/noise', 'loud', { qos: 1 });
        return recorded.getByText('plant/noise').count();
      })
      .toBe(1);
    await checkScreen(page, 'broker-uncounted');
    await mosquitto.stop();
    await expect.poll(() => state.textContent()).toBe('unreachable');
    await page.locator('.figures.stale').waitFor();
    for (const screen of ['Topics', 'Streams', 'Bridges']) {
      await page.getByRole('link', { name: screen }).click();
      await page.getByText('not live').first().waitFor();
    }
    await page.getByRole('link', { name: 'Overview' }).click();
    await mosquitto.start();
    await expect.poll(() => state.textContent()).toBe('connected');

    const strict = await startMosquitto({ access: 'dynsec' });
    await dynsecDone(await strict.client(ADMIN), { command: 'createClient', username: 'weak', password: 'weak' });
    await addBroker(service, strict.url, { name: 'strict', username: 'weak', password: 'weak' });
    const fleet = await openFleet(service);
    await openBroker(fleet, 'strict');
    await fleet.getByRole('alert').filter({ hasText: 'This service may not read $SYS/#' }).waitFor();
    expect(await fleet.getByText('has published no numbers').count()).toBe(0);
  });

  test('adds a broker from the fleet, changes its credentials, and removes it, by keyboard and by mouse', async () => {
    const service = await startTestService();
    const mosquitto = await startMosquitto({ access: 'passwords' });
    const page = await openFleet(service);
    await page.getByRole('button', { name: 'Add broker' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    // Host and port are enough.
    await page.keyboard.type(new URL(mosquitto.url).host);
    await page.getByRole('button', { name: 'Test the connection' }).click();
    const check = (text: string) => page.getByRole('listitem').filter({ hasText: text });
    await check('can be reached').getByRole('img', { name: 'passed' }).waitFor();
    await check('accepts the credentials').getByRole('img', { name: 'failed' }).waitFor();
    await check('numbers of the broker can be read').getByRole('img', { name: 'not checked' }).waitFor();
    await page.getByLabel('User name').fill(ADMIN.username);
    await page.getByLabel(/^Password/).fill(ADMIN.password);
    // The result of other settings is gone.
    await expect.poll(() => check('can be reached').count()).toBe(0);
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await check('accepts the credentials').getByRole('img', { name: 'passed' }).waitFor();
    await check('numbers of the broker can be read').getByRole('img', { name: 'passed' }).waitFor();
    await check('Access control can be managed').getByText('dynamic security').waitFor();
    await page.getByRole('button', { name: 'Check again' }).waitFor();
    await checkScreen(page, 'broker-add');
    await page.getByLabel('User name').fill('');
    await page.getByLabel(/^Password/).fill('');
    await page.getByLabel(/^Name/).fill('plant');
    await page.keyboard.press('Enter');
    // The first screen of the new broker states what it lacks.
    await expect.poll(() => page.locator('header.place > .state').textContent()).toBe('not authorized');
    await page.getByRole('button', { name: 'Change settings' }).click();
    await page.getByText('The connection to the broker remains.').waitFor();
    await page.getByLabel('User name').fill(ADMIN.username);
    await page.getByLabel(/^Password/).fill(ADMIN.password);
    await page.getByText('0 streams and 0 bridges').waitFor();
    await page.getByLabel(/^Password/).press('Enter');
    await expect.poll(() => page.locator('header.place > .state').textContent()).toBe('connected');
    await page
      .getByRole('definition')
      .filter({ hasText: /^admin$/ })
      .waitFor();

    // A password is stored for one address only.
    const other = await startMosquitto({ access: 'passwords' });
    await page.getByRole('button', { name: 'Change settings' }).click();
    await page.getByLabel(/^Address/).fill(other.url);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').getByRole('alert').getByText('is stored for another address').waitFor();
    await page.getByLabel(/^Password/).fill(ADMIN.password);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('definition').filter({ hasText: other.url }).waitFor();
    expect((await service.storage.db.broker.findFirstOrThrow()).url).toBe(other.url);

    await page.getByRole('region', { name: 'Danger zone' }).getByRole('button', { name: 'Remove broker' }).click();
    await page.getByText('The broker itself continues').waitFor();
    await page.getByText('bridges that this service runs: 0').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Remove broker' }).press('Enter');
    // Before, the button is disabled.
    await page.getByText('bridges that this service runs: 0').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove broker' }).press('Enter');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await service.storage.db.broker.count()).toBe(0);
  });

  test('shows a VIEWER the numbers and settings, and no button that would be refused', async () => {
    const service = await startTestService();
    const mosquitto = await startMosquitto();
    const id = await addBroker(service, mosquitto.url);
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    await page.getByRole('rowheader', { name: 'plant' }).waitFor();
    expect(await page.getByRole('button', { name: 'Add broker' }).count()).toBe(0);
    await openBroker(page, 'plant');
    await page.getByText(id).waitFor();
    for (const name of ['Change settings', 'Remove broker']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    // Another administrator removes the broker.
    await service.graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id });
    await page.getByText('This broker does not exist, or you may not see it.').waitFor();
  });
});
