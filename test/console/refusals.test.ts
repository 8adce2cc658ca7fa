import { describe, expect, test } from 'vitest';
import { rawClient } from '../engines/embedded/raw-client.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startTestService } from '../support/service.ts';
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
});
