import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { openConsole, openFleet, signOut } from './page.ts';

const QUERY = encodeURIComponent('query Own { viewer { email } }');

describe.skipIf(!hasChromium)(hasChromium ? 'the explorer' : CHROMIUM_MISSING, () => {
  test('asks for the sign-in of the console, and returns with its query, signed in', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { email, id } = await service.person('VIEWER');
    const page = await openConsole(service);
    await page.goto(`${service.url}/graphql?query=${QUERY}`);
    await enter(page, email);
    await page.waitForURL(`${service.url}/graphql?query=${QUERY}`);
    await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
    expect(await page.getByText('Bearer').count()).toBe(0);
    await run(page, 'Own', 'query Own { viewer { email } }');
    await page.locator('.graphiql-response').getByText(email).waitFor();
    const stream = `subscription Status { brokerStatus(projectId: "${service.projectId}") { kind } }`;
    await run(page, 'Status', stream);
    await page.locator('.graphiql-response').getByText('SNAPSHOT').waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');

    // After the session was revoked, the next operation leads to the sign-in, and back to the text in the editor.
    await service.services.auth.sessions.endAll(id);
    await page.getByRole('button', { name: 'Stop query' }).waitFor({ state: 'hidden' });
    await run(page, 'Own', 'query Own { viewer { email name } }');
    await enter(page, email);
    await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
    // The query of the address is in another tab.
    await page.getByRole('tab', { name: 'Own' }).last().waitFor();
  });

  test('opens from the menu without another sign-in, and ends with a sign-out in another tab', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await page.getByRole('link', { name: 'GraphiQL' }).click();
    await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${service.url}/`);
    await signOut(other);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('no page of the service allows inline scripts or styles', async () => {
    const service = await startTestService();
    for (const path of ['/', '/graphql', '/api/docs', '/auth/oidc/callback']) {
      const { headers } = await fetch(service.url + path, { headers: { accept: 'text/html' } });
      expect([path, headers.get('content-security-policy') ?? '']).not.toEqual([
        path,
        expect.stringContaining('unsafe'),
      ]);
    }
  });
});

async function enter(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
}

async function run(page: Page, name: string, text: string): Promise<void> {
  await page
    .locator('.graphiql-query-editor .CodeMirror')
    .evaluate((element, value) => (element as unknown as Editor).CodeMirror.setValue(value), text);
  // GraphiQL has read the text when its tab has the name of the operation.
  await page.getByRole('tab', { name }).waitFor();
  await page.getByRole('button', { name: 'Execute query' }).click();
}

interface Editor {
  readonly CodeMirror: { setValue(text: string): void };
}
