import { parse, validate } from 'graphql';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { CHROMIUM_MISSING, hasChromium, startChromium } from '../../support/chromium.ts';
import { ROOT, startTestService } from '../../support/service.ts';
import { send } from './requests.ts';

/** Bytes of the page and its files at the first visit of a browser, with their header fields. */
const MAX_FIRST_VISIT = 400_000;

test('the page and its files have tags, lengths and copies for each encoding', async () => {
  const { port } = await startTestService();
  const page = await send(port, '/graphql', { headers: { accept: 'text/html' } });
  expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' });
  const policy = String(page.headers['content-security-policy']);
  expect([policy.includes('unsafe'), policy.includes("frame-ancestors 'none'")]).toEqual([false, true]);
  const etag = String(page.headers.etag);
  const again = await send(port, '/graphql', { headers: { accept: 'text/html', 'if-none-match': `"old", W/${etag}` } });
  expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
  const files = [...page.text.matchAll(/(?:src|href)="(graphiql\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  expect(files.length).toBe(2);
  for (const path of files) {
    const sizes: number[] = [];
    for (const encoding of ['identity', 'gzip', 'br']) {
      const { status, headers, bytes } = await send(port, path, { headers: { 'accept-encoding': encoding } });
      const sent = encoding === 'identity' ? undefined : encoding;
      expect([status, headers['content-encoding'], headers.vary]).toEqual([200, sent, 'Accept-Encoding']);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(Number(headers['content-length'])).toBe(bytes.length);
      sizes.push(bytes.length);
      const conditional = { 'accept-encoding': encoding, 'if-none-match': String(headers.etag) };
      expect((await send(port, path, { headers: conditional })).status).toBe(304);
      const head = await send(port, path, { method: 'HEAD', headers: { 'accept-encoding': encoding } });
      expect([head.headers['content-length'], head.text]).toEqual([headers['content-length'], '']);
    }
    expect(sizes).toEqual([...sizes].sort((one, other) => other - one));
    expect((await send(port, path, { method: 'POST' })).status).toBe(405);
  }
  for (const path of [
    '/graphiql/',
    '/graphiql/page.html',
    '/graphiql/..%2Fpothos.ts',
    `${files[0]}.br`,
    '/graphiql/js',
  ]) {
    expect([path, (await send(port, path)).status]).toEqual([path, 404]);
  }
});

test.skipIf(!hasChromium)(
  hasChromium ? 'a browser loads little once, and nothing again' : CHROMIUM_MISSING,
  async () => {
    const { url, root, projectId } = await startTestService();
    const browser = await startChromium();
    const context = await browser.newContext();
    await context.addCookies([{ name: 'brokergraph-session', value: root, url }]);
    const faults: string[] = [];
    const open = async () => {
      const page = await context.newPage();
      page.on('console', (message) => faults.push(message.text()));
      page.on('pageerror', ({ message }) => faults.push(message));
      await page.goto(`${url}/graphql`);
      await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
      return page;
    };
    const first = await open();
    const bytes = await transferred(first);
    expect(bytes.page + bytes.files).toBeLessThan(MAX_FIRST_VISIT);
    expect(bytes.files).toBeGreaterThan(100_000);
    const shown = await first
      .locator('.graphiql-query-editor .CodeMirror')
      .evaluate((element) => (element as unknown as Editor).CodeMirror.getValue());
    expect(validate(schema, parse(shown)).map(({ message }) => message)).toEqual([]);

    await execute(first, 'TestViewer', 'query TestViewer { viewer { email } }');
    await first.locator('.graphiql-response').getByText(ROOT.email).waitFor();
    await execute(first, 'TestStatus', `subscription TestStatus { brokerStatus(projectId: "${projectId}") { kind } }`);
    await first.locator('.graphiql-response').getByText('SNAPSHOT').waitFor();
    await first.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await first.getByText('A GraphQL schema provides a root type').waitFor();
    await first.getByRole('button', { name: 'Open settings dialog' }).click();
    await first.getByRole('dialog').waitFor();

    const second = await open();
    const { page, files } = await transferred(second);
    expect(files).toBe(0);
    expect(page).toBeLessThan(1_000);
    expect(faults).toEqual([]);
  },
);

async function execute(page: Page, name: string, text: string): Promise<void> {
  await page
    .locator('.graphiql-query-editor .CodeMirror')
    .evaluate((element, value) => (element as unknown as Editor).CodeMirror.setValue(value), text);
  // GraphiQL has read the text when its tab has the name of the operation.
  await page.getByRole('tab', { name }).waitFor();
  await page.getByRole('button', { name: 'Execute query' }).click();
}

interface Editor {
  readonly CodeMirror: { getValue(): string; setValue(text: string): void };
}

/** Bytes that the page and its scripts and style sheets took, as the browser counts them. */
const transferred = (page: Page): Promise<{ page: number; files: number }> =>
  page.evaluate(() => {
    const sum = (type: string) =>
      performance
        .getEntriesByType(type)
        .map((entry) => entry.toJSON())
        .filter(({ initiatorType }) => ['navigation', 'script', 'link'].includes(initiatorType))
        .reduce((total, { transferSize }) => total + transferSize, 0);
    return { page: sum('navigation'), files: sum('resource') };
  });
