import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { PASSWORD, ROOT, startTestService, type TestService } from '../support/service.ts';
import { openConsole, signIn, signOut } from './page.ts';

const NAME = 'brokergraph-session';

/** A page of the same host and another port, whose script sets the cookie: cookies do not distinguish ports. */
async function plant(page: Page, value: string): Promise<void> {
  const script = `document.cookie = '${NAME}=${value}; path=/'`;
  const server = createServer((_req, res) =>
    res.setHeader('content-type', 'text/html').end(`<!doctype html><title>planted</title><script>${script}</script>`),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const foreign = await page.context().newPage();
  await foreign.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await foreign.close();
}

const cookieOf = async (page: Page) =>
  (await page.context().cookies()).filter(({ name }) => name === NAME).map(({ value }) => value);

/** What the service says to a program that has the secret. */
const codeFor = async (service: TestService, secret: string) =>
  (await service.graphql('{ viewer { kind } }', {}, secret)).errors?.[0]?.extensions.code ?? null;

describe.skipIf(!hasChromium)(hasChromium ? 'the session cookie of the console' : CHROMIUM_MISSING, () => {
  test('of a new session stays when another tab, which loads meanwhile, hears that the previous session has ended', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    await page.context().addCookies([{ name: NAME, value: 'bgs_ended', url: service.url }]);
    const slow = await page.context().newPage();
    const devTools = await page.context().newCDPSession(slow);
    await devTools.send('Fetch.enable', { patterns: [{ urlPattern: '*/graphql', requestStage: 'Response' }] });
    const isHeld = new Promise<string>((resolve) => {
      devTools.once('Fetch.requestPaused', ({ requestId, responseStatusCode }) => {
        expect(responseStatusCode).toBe(401);
        resolve(requestId);
      });
    });
    await slow.goto(`${service.url}/`);
    const requestId = await isHeld;
    await signIn(page);
    const [secret] = await cookieOf(page);
    await devTools.send('Fetch.continueRequest', { requestId });
    await devTools.send('Fetch.disable');
    await slow.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await cookieOf(page)).toEqual([secret]);
    await page.reload();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  });

  test('is never a value that another origin has planted before the sign-in', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    const planted = 'bgs_planted';
    await plant(page, planted);
    expect(await cookieOf(page)).toEqual([planted]);
    await page.reload();
    await signIn(page);
    const [secret = ''] = await cookieOf(page);
    expect(secret).toMatch(/^bgs_\w{49}$/);
    expect([await codeFor(service, planted), await codeFor(service, secret)]).toEqual(['UNAUTHORIZED', null]);
    // A script cannot replace the cookie of the session, because it is HttpOnly.
    await plant(page, planted);
    expect(await cookieOf(page)).toEqual([secret]);
    await signOut(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page);
    const [next = ''] = await cookieOf(page);
    expect(next).not.toBe(secret);
    expect([await codeFor(service, secret), await codeFor(service, next)]).toEqual(['UNAUTHORIZED', null]);
  });

  test('is not the session of an attacker after the sign-in of another person', async () => {
    const service = await startTestService();
    const attacker = await service.person('VIEWER');
    const person = await service.person('EDITOR');
    const page = await openConsole(service);
    await plant(page, attacker.token);
    await page.reload();
    // The page shows whose session it is.
    await page.getByText(attacker.email).waitFor();
    await signOut(page);
    await signIn(page, { email: person.email, password: PASSWORD });
    await page.getByText(person.email).waitFor();
    expect(await cookieOf(page)).not.toContain(attacker.token);
    expect(await codeFor(service, attacker.token)).toBe('UNAUTHORIZED');
  });

  test('of an ended session does not prevent the next sign-in, also after a wrong password', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    await page.context().addCookies([{ name: NAME, value: 'bgs_ended', url: service.url }]);
    await page.reload();
    await page.getByLabel('E-mail address').fill(ROOT.email);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/password/i);
    expect(await cookieOf(page)).toEqual(['bgs_ended']);
    await signIn(page);
  });
});
