import { describe, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, openConsole, openFleet, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'failures of the console' : CHROMIUM_MISSING, () => {
  test('stay within the screen, and an unknown address leads back to the fleet', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    // A response that the service does not send, because the screens have no known fault.
    await page.route(`${service.url}/graphql`, (route) =>
      route.request().postData()?.includes('query People')
        ? route.fulfill({ json: { data: { users: { totalCount: 1, nodes: null } } } })
        : route.continue(),
    );
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'This screen has a fault.' }).waitFor();
    await checkScreen(page, 'screen-failure');
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.evaluate("location.hash = '#/nowhere'");
    await page.getByRole('heading', { name: 'There is no screen at this address.' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.evaluate(`location.hash = '#/projects/${service.projectId}/nowhere'`);
    await page.getByRole('heading', { name: 'There is no screen at this address.' }).waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Add member' }).waitFor();
  });

  test('end by themselves when the service was starting', async () => {
    const service = await startTestService();
    const page = await openConsole(service, { expected: /503/ });
    await signIn(page);
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People' }).waitFor();
    const starting = { message: 'The service is starting', code: 'STARTING', status: 503 };
    await page.route(`${service.url}/graphql`, (route) => route.fulfill({ status: 503, json: starting }));
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByText('The service does not respond').waitFor();
    await page.unroute(`${service.url}/graphql`);
    await page.getByRole('link', { name: 'Test', exact: true }).waitFor();
  });
});
