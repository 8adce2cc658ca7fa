import { describe, expect, test } from 'vitest';
import { rawClient } from '../engines/embedded/raw-client.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openBroker, openConsole, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the refusals' : CHROMIUM_MISSING, () => {
  test('say within a second who was refused, why, and what would help', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const page = await openConsole(service);
    await signIn(page);
    await openBroker(page, broker.name);
    await page.getByRole('link', { name: 'Refusals' }).click();
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
    await openBroker(page, broker.name);
    await page.getByRole('link', { name: 'Refusals' }).click();
    await page.locator('table.stale').waitFor();
    release();
    await page.locator('table:not(.stale)').waitFor();
    expect(await page.getByRole('row').count()).toBeGreaterThan(200);
    await checkScreen(page, 'refusals-parts');
  });
});
