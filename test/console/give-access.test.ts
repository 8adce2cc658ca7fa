import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { accessWorld } from '../domains/access-control/access-service.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openFleet } from './page.ts';

const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name });

/** The generated password is the first text to copy. */
const passwordIn = async (page: Page) =>
  (await dialog(page, /^Connect /)
    .locator('pre')
    .first()
    .textContent()) ?? '';

describe.skipIf(!hasChromium)(hasChromium ? 'the access of a device' : CHROMIUM_MISSING, () => {
  test('is given from the first steps, with a password, programs to copy, and a live line', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { url } = await firstBroker(service);
    const page = await openFleet(service);
    await page.getByRole('link', { name: 'Connect a device' }).click();
    const form = dialog(page, 'Give a device access');
    await form.getByLabel(/^User name/).fill('pump$&7');
    await form.getByText('Send and receive below a topic').waitFor();
    await checkScreen(page, 'give-access');
    await form.getByRole('button', { name: 'Review changes' }).click();
    const review = dialog(page, 'Access of pump$&7');
    await review
      .getByRole('listitem')
      .filter({ hasText: 'createRole rolename devices/%u/# (send, receive)' })
      .waitFor();
    await review.getByRole('button', { name: 'Create the account' }).click();

    const connect = dialog(page, 'Connect pump$&7');
    const password = await passwordIn(page);
    expect(password).toMatch(/^[\w-]{24}$/);
    const { port } = new URL(url);
    const publish = `mosquitto_pub -h 127.0.0.1 -p ${port} -u 'pump$&7' -P '${password}'`;
    await connect.getByText(publish).waitFor();
    await connect.getByText("-q 1 -t 'devices/pump$&7/test' -m hello").waitFor();
    await connect.getByText('waiting for the device …').waitFor();
    await expect(startClient(url, { clientId: 'p7', username: 'pump$&7', password: 'wrong' })).rejects.toThrow();
    await connect.getByText('Denied a connection').waitFor();
    await connect.getByText('wrong password').waitFor();
    await checkScreen(page, 'give-access-connect');
    await connect.getByRole('button', { name: 'Python' }).press('Enter');
    await connect.getByText(`client.username_pw_set("pump$&7", "${password}")`).waitFor();
    await connect.getByLabel('TLS').check();
    await connect.getByRole('button', { name: 'Arduino, ESP' }).click();
    await connect.getByText('WiFiClientSecure net;').waitFor();

    const client = await startClient(url, { clientId: 'p7', username: 'pump$&7', password });
    await connect.getByRole('link', { name: 'p7' }).waitFor();
    expect(await connect.getByText('wrong password').count()).toBe(0);
    expect(await client.subscribeAsync('devices/pump$&7/#')).toMatchObject([{ qos: 0 }]);
    await expect(client.subscribeAsync('devices/other/#')).rejects.toThrow();
    await client.publishAsync('devices/pump$&7/test', 'x', { qos: 1 });
    await connect.getByRole('button', { name: 'Done' }).press('Enter');
    await page.getByRole('rowheader', { name: 'pump$&7' }).waitFor();
    expect(await page.getByText(password).count()).toBe(0);

    // The next one shares the role.
    await page.getByRole('button', { name: 'Give a device access' }).press('Enter');
    await form.getByLabel(/^User name/).fill('pump-8');
    await page.keyboard.press('Enter');
    await page.getByText('The device gets the role devices/%u/# (send, receive)').waitFor();
    expect(await dialog(page, 'Access of pump-8').getByText('createRole').count()).toBe(0);
    await page.keyboard.press('Escape');
    await form.waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.reload();
    await page.getByRole('rowheader', { name: 'pump$&7' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('of Mosquitto 2.0 has a role of its own, and begins at the page of a client without an account', async () => {
    const world = await accessWorld('Mosquitto 2.0');
    await world.ask('createRole', { rolename: 'sensor' });
    const page = await openFleet(world.service);
    await page.goto(`${world.service.url}/#/brokers/${world.brokerId}/clients/valve-1`);
    await page.getByRole('link', { name: 'Give a device access' }).press('Enter');
    const form = dialog(page, 'Give a device access');
    await expect.poll(() => form.getByLabel(/^User name/).inputValue()).toBe('valve-1');
    expect(await form.getByLabel('Restrict to client id').inputValue()).toBe('valve-1');
    await form.getByLabel('Only send below a topic').check();
    await form.getByLabel('Below the topic').fill('plant/valves');
    await form.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Create the account' }).click();
    const connect = dialog(page, 'Connect valve-1');
    await connect.getByText("-i 'valve-1'").waitFor();
    const password = await passwordIn(page);
    expect(await world.ask('getRole', { rolename: 'plant/valves/# (send)' })).toMatchObject({
      role: { acls: [{ acltype: 'publishClientSend', topic: 'plant/valves/#', allow: true }] },
    });
    // It leaves again at once, as mosquitto_pub does.
    const client = await startClient(world.url, { clientId: 'valve-1', username: 'valve-1', password });
    await client.endAsync();
    await connect.getByRole('link', { name: 'valve-1' }).click();
    await page.getByRole('heading', { level: 2, name: 'valve-1', exact: true }).waitFor();
    await page.getByText('Only the client id valve-1 may use it.').waitFor();

    await page.goto(`${world.service.url}/?new=device#/brokers/${world.brokerId}/access/accounts`);
    await form.getByLabel(/^User name/).fill('valve-2');
    await form.getByLabel('What an existing role allows').check();
    await form.getByLabel('Role', { exact: true }).fill('sensor');
    // Enter would choose a suggestion, if they are shown already.
    await form.getByRole('button', { name: 'Review changes' }).press('Enter');
    // A click waits for the review. Enter would press the button that has the focus before, "Back to the form".
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByText('The role allows no topic, so there is no example.').waitFor();
  });
});
