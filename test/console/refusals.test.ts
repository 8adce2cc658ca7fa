import { describe, expect, onTestFinished, test } from 'vitest';
import { rawClient } from '../data-plane/broker/raw-client.ts';
import { accessWorld } from '../domains/access-control/access-service.ts';
import { joinFrom, sendRaw } from '../domains/refusals/refused-clients.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openBroker, openConsole, openFleet, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the refusals' : CHROMIUM_MISSING, () => {
  test('say within a second who was refused, why, and what would help', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const page = await openFleet(service);
    await openBroker(page, broker.name, 'Denied');
    await page.getByText('mosquitto_pub -h 127.0.0.1').waitFor();
    const port = Number(new URL(broker.url).port);
    const refused = rawClient(port, { clientId: 'dev-17', username: 'nobody', password: Buffer.from('wrong') });
    await refused.catch(() => {});
    const row = page.getByRole('row').filter({ hasText: 'dev-17' });
    await row.waitFor();
    const text = await row.textContent();
    expect(text).toContain('nobody');
    expect(text).toContain('unknown account');
    await checkScreen(page, 'refusals');
    // The filter is in the address.
    await page.getByLabel('Client, account, topic or address').fill('another');
    await page.getByText('Nothing that was denied matches the filter.').waitFor();
    await page.getByLabel('Client, account, topic or address').fill('NOBODY');
    await page.getByLabel('Reason').selectOption('unknown account');
    await row.waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('reason')).toBe('UNKNOWN_ACCOUNT');
    const { origin, hash } = new URL(page.url());
    await page.goto(`${origin}/?from=2020-01-01T00:00:00.000Z&to=2020-01-02T00:00:00.000Z${hash}`);
    await page.getByText('Nothing that was denied matches the filter.').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    // Rules decide about topics only, so this leads to what is known about the connection.
    await row.getByRole('link', { name: 'Check access' }).click();
    const heading = page.getByRole('heading', { name: 'Denied: unknown account' });
    await heading.waitFor();
    await expect.poll(() => page.title()).toMatch(/^Denied: unknown account · Denied/);
    await expect.poll(() => heading.evaluate('document.activeElement.textContent')).toBe('Denied: unknown account');
    await page.getByText('Create the account "nobody"').waitFor();
    await page.getByRole('link', { name: 'To the accounts, to create one' }).waitFor();
    await page.goBack();
    await row.getByRole('link', { name: 'dev-17' }).click();
    await page.getByRole('heading', { name: 'dev-17' }).waitFor();
  });

  test('lead from a wrong password to the account, from a rule to its explanation, and from other reasons to what helps', async () => {
    const world = await accessWorld('the embedded broker');
    const { service, brokerId } = world;
    await world.ask('createClient', { username: 'meter', password: 'one' });
    const { port } = new URL((await firstBroker(service)).url);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${brokerId}/refusals`);
    const connect = (clientId: string, username?: string, password = 'one') =>
      sendRaw(Number(port), { clientId, ...(username && { username, password: Buffer.from(password) }) });
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    const explanation = (text: string) => row(text).getByRole('link', { name: 'Check access' });
    const said = (reason: string) => page.getByRole('heading', { name: `Denied: ${reason}` });

    connect('m1', 'meter', 'wrong');
    await explanation('wrong password').click();
    await said('wrong password').waitFor();
    await checkScreen(page, 'refusal');
    await page.getByRole('link', { name: 'Set a new password of the account meter' }).click();
    await page.getByRole('heading', { name: 'meter' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'All that was denied' }).click();
    await row('wrong password').getByRole('link', { name: 'meter' }).click();
    await page.getByRole('heading', { name: 'meter' }).waitFor();
    await page.goBack();

    await world.ask('disableClient', { username: 'meter' });
    connect('m2', 'meter');
    await explanation('disabled account').click();
    await said('disabled account').waitFor();
    await page.getByRole('link', { name: 'To the account meter' }).waitFor();
    await page.goBack();
    connect('m3');
    await explanation('no user name').click();
    await said('no user name').waitFor();
    await page.getByRole('link', { name: 'To the groups' }).waitFor();
    await page.goBack();

    await world.ask('enableClient', { username: 'meter' });
    const meter = await world.client({ clientId: 'm4', username: 'meter', password: 'one', protocolVersion: 5 });
    await expect(meter.publishAsync('plant/1', 'x', { qos: 1 })).rejects.toThrow();
    await explanation('plant/1').click();
    await page.getByRole('status').filter({ hasText: 'Denied: meter, publish, plant/1' }).waitFor();

    await page.goto(`${service.url}/#/brokers/${brokerId}/refusals`);
    await world.ask('createClient', { username: 'twin', password: 'one' });
    const password = Buffer.from('one');
    await joinFrom('127.0.0.1', Number(port), { clientId: 'same', username: 'meter', password });
    await joinFrom('127.0.0.2', Number(port), { clientId: 'same', username: 'twin', password });
    await row('127.0.0.1 ⇄ 127.0.0.2')
      .getByText('from 127.0.0.1 (account "meter") and from 127.0.0.2 (account "twin")')
      .waitFor();
    await explanation('127.0.0.2').click();
    await said('several clients with this client id').waitFor();
    await page.getByRole('definition').filter({ hasText: '127.0.0.2 (twin)' }).waitFor();
    await page.getByRole('definition').getByRole('link', { name: 'same' }).click();
    await row('a connection that another client replaced').getByText('from 127.0.0.2 (account "twin")').waitFor();
    await page.getByText('session taken over').first().waitFor();
    await page.goto(`${service.url}/?id=rfs_gone#/brokers/${brokerId}/refusals`);
    await page.getByText('This entry is not in the list any more.').waitFor();
  });

  test('are not live before the last part of a long list has come', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const created = await service.graphql(
      'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { outcome } }',
      { input: { brokerId: broker.id, change: { username: 'dev', password: PASSWORD } } },
    );
    expect(created.errors).toBeUndefined();
    // One event has at most 200 refusals. Of one network there are 100 of each kind, and one for all others.
    const client = await startClient(broker.url, { clientId: 'dev-1', username: 'dev', password: PASSWORD });
    for (let n = 0; n < 110; n++) {
      await client.subscribeAsync(`plant/${n}`).catch(() => undefined);
      await client.publishAsync(`plant/${n}`, '1', { qos: 1 }).catch(() => undefined);
    }
    const page = await openConsole(service);
    // Nothing else removes the route of a WebSocket.
    onTestFinished(() => page.close());
    let release = () => {};
    await page.routeWebSocket(/graphql/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        const { refusals } = JSON.parse(String(message)).payload?.data ?? {};
        const isLast = refusals?.kind === 'CHANGE' && refusals.partsLeft === 0;
        if (isLast) release = () => socket.send(message);
        else socket.send(message);
      });
    });
    await page.reload();
    await signIn(page);
    await openBroker(page, broker.name, 'Denied');
    await page.locator('table.stale').waitFor();
    release();
    await page.locator('table:not(.stale)').waitFor();
    expect(await page.getByRole('row').count()).toBeGreaterThan(200);
    await checkScreen(page, 'refusals-parts');
  });
});
