import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium, startChromium } from '../../support/chromium.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** The HTML page in a narrow window of a real browser, the requests that it sends, and the errors that it reports. */
async function openDocs(service: TestService) {
  const page = await (await startChromium()).newPage({ viewport: { width: 360, height: 740 } });
  const sent: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (request.resourceType() === 'fetch') sent.push(`${request.method()} ${pathname}${search}`);
  });
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    // Chromium also reports responses with a status of an error.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text());
  });
  await page.goto(`${service.url}/api/docs`);
  return { page, sent, errors };
}

/** Opens an operation, and returns its form with what it shows after a request. */
async function openForm(page: Page, id: string) {
  const entry = page.locator(`details[id="${id}"]`);
  await entry.locator('summary').click();
  const form = entry.locator('form');
  return {
    form,
    send: form.getByRole('button'),
    status: form.getByRole('status'),
    headers: form.getByLabel('Response headers'),
    body: form.getByLabel('Response body'),
  };
}

const visible = (page: Page) => page.locator('details:visible > summary > code').allTextContents();

const inBrowser = (title: string, run: () => Promise<void>) =>
  test.skipIf(!hasChromium)(hasChromium ? title : `${title}: ${CHROMIUM_MISSING}`, run);

inBrowser('the search finds operations by other words for them, and by name', async () => {
  const { page, errors } = await openDocs(await startTestService());
  const search = page.getByLabel('Search');
  const found = page.locator('#found');
  expect(await found.textContent()).toBe('73 operations');
  await search.fill('kick');
  expect(await visible(page)).toEqual(['/api/projects/{projectId}/brokers/{brokerId}/client-control/disconnect']);
  expect(await found.textContent()).toBe('1 operation');
  await search.fill('listaccounts');
  expect(await visible(page)).toEqual(['/api/projects/{projectId}/brokers/{brokerId}/clients']);
  await search.fill('remove api key');
  expect(await visible(page)).toEqual(['/api/projects/{projectId}/tokens/{tokenId}']);
  await search.fill('nothing has this word');
  expect(await visible(page)).toEqual([]);
  expect(await found.textContent()).toBe('No operation matches.');
  expect(errors).toEqual([]);
});

inBrowser('a form sends its request with the token, and shows status, headers and body', async () => {
  const service = await startTestService();
  const { page, sent, errors } = await openDocs(service);
  const list = await openForm(page, 'GET-/api/users');
  await list.send.click();
  await list.status.filter({ hasText: '401' }).waitFor();
  expect(await list.body.textContent()).toContain('"code": "UNAUTHORIZED"');

  await page.getByLabel('Token for').fill(service.root);
  await list.form.getByLabel('sortOrder').selectOption('desc');
  await list.form.getByLabel('pageSize').fill('5');
  await list.send.click();
  await list.status.filter({ hasText: '200 OK' }).waitFor();
  expect(sent).toEqual(['GET /api/users', 'GET /api/users?pageSize=5&sortOrder=desc']);
  expect(await list.headers.textContent()).toMatch(/^x-total-count: 1$/m);
  expect(JSON.parse((await list.body.textContent()) ?? '')).toMatchObject({ data: [{ email: 'root@example.com' }] });

  // The body of the example is sent. Text of a response never becomes a part of the page.
  const create = await openForm(page, 'POST-/api/users');
  const body = create.form.getByRole('textbox', { name: 'Body' });
  expect(JSON.parse(await body.inputValue())).toMatchObject({ firstname: 'Ada', email: 'ada@example.com' });
  await body.fill((await body.inputValue()).replace('Lovelace', '<img src=x onerror=alert(1)>'));
  await create.send.click();
  await create.status.filter({ hasText: '200 OK' }).waitFor();
  await list.send.click();
  await list.body.filter({ hasText: 'Ada <img src=x onerror=alert(1)>' }).waitFor();
  expect(await page.locator('img').count()).toBe(0);

  const rename = await openForm(page, 'PUT-/api/users/admins');
  await rename.form.getByLabel('email').fill('ada+1@example.com');
  await rename.send.click();
  await rename.status.filter({ hasText: '400' }).waitFor();
  expect(sent.at(-1)).toBe('PUT /api/users/admins?email=ada%2B1%40example.com');

  // The token is only in its input element.
  expect(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0);
  await page.reload();
  expect(await page.getByLabel('Token for').inputValue()).toBe('');
  expect(errors).toEqual([]);
});

inBrowser('changes are sent only by their button, and deletions after a confirmation', async () => {
  const service = await startTestService();
  const { id } = await service.person(null);
  const { page, sent, errors } = await openDocs(service);
  await page.getByLabel('Token for').fill(service.root);
  const read = await openForm(page, 'GET-/api/users/{userId}');
  const remove = await openForm(page, 'DELETE-/api/users/{userId}');
  const userId = remove.form.getByLabel('userId');
  const dialog = page.getByRole('dialog', { name: 'Send this request?' });

  // Without a value, and with a segment that browsers resolve, there is no request.
  await remove.send.click();
  await userId.fill('..');
  await remove.send.click();
  expect(await userId.evaluate((field: HTMLInputElement) => field.validity.patternMismatch)).toBe(true);
  expect(await dialog.isVisible()).toBe(false);

  await userId.fill(id);
  expect(await read.form.getByLabel('userId').inputValue()).toBe(id);
  await userId.press('Enter');
  await remove.send.click();
  expect(await dialog.textContent()).toContain(`DELETE /api/users/${id}`);
  const focused = () => page.evaluate('document.activeElement.textContent');
  expect(await focused()).toBe('Cancel');
  await page.keyboard.press('Enter');
  expect(await dialog.isVisible()).toBe(false);
  expect(await focused()).toBe('Send DELETE');
  await remove.send.click();
  await page.keyboard.press('Escape');
  expect(sent).toEqual([]);

  await remove.send.click();
  await dialog.getByRole('button', { name: 'Send DELETE' }).click();
  await remove.status.filter({ hasText: '204' }).waitFor();
  expect(sent).toEqual([`DELETE /api/users/${id}`]);
  await read.send.click();
  await read.status.filter({ hasText: '404' }).waitFor();
  expect(errors).toEqual([]);
});

inBrowser('every control has a name, and nothing is wider than a narrow window', async () => {
  const { page, errors } = await openDocs(await startTestService());
  const { controls, nameless, tooWide } = await page.evaluate(() => {
    for (const entry of document.querySelectorAll('details')) entry.open = true;
    const controls = [...document.querySelectorAll<HTMLInputElement>('input, select, textarea, button')];
    const nameOf = (one: HTMLInputElement) => one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent;
    return {
      controls: controls.length,
      nameless: controls.filter((one) => nameOf(one)?.trim() === '' || one.labels?.[0]?.textContent.trim() === ''),
      tooWide: [...document.querySelectorAll('body *')]
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth)
        .map(({ outerHTML }) => outerHTML.slice(0, 200)),
    };
  });
  expect(controls).toBeGreaterThan(200);
  expect(nameless).toEqual([]);
  expect(tooWide).toEqual([]);
  expect(errors).toEqual([]);
});
