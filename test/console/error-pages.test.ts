import { describe, expect, onTestFinished, test } from 'vitest';
import type { NodeHandler } from '../../src/gateway/http/fetch-handler.ts';
import { startHttpServer } from '../../src/gateway/http/http-server.ts';
import { CHROMIUM_MISSING, hasChromium, openPage } from '../support/chromium.ts';
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

  test('of a service that starts are a page that becomes the requested one by itself', async () => {
    const server = await startHttpServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(server.close);
    const url = `http://127.0.0.1:${server.port}`;
    const page = await openPage('en-GB');
    const refused: string[] = [];
    page.on('console', (message) => message.text().includes('Content Security Policy') && refused.push(message.text()));
    await page.goto(`${url}/#/brokers/x`);
    await page.getByRole('heading', { name: 'The service is starting' }).waitFor();
    const program = await fetch(`${url}/api/projects`);
    expect([program.status, await program.json()]).toMatchObject([503, { code: 'STARTING' }]);
    const shown = '<!doctype html><title>Started</title><h1>Started</h1>';
    const handle: NodeHandler = (_req, res) => res.setHeader('content-type', 'text/html').end(shown);
    server.serve({ entryOf: () => ({ kind: undefined, fetch: () => new Response(), handle }) });
    await page.getByRole('heading', { name: 'Started' }).waitFor();
    expect([page.url(), refused]).toEqual([`${url}/#/brokers/x`, []]);
  });
});
