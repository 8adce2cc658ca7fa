import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { SESSION_LIFETIME_MS } from '../../src/platform/auth/sessions.ts';
import { startSignInWorld } from '../domains/sign-in/oidc-world.ts';
import { addRule } from '../domains/sign-in/sign-in-steps.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { temporaryFolder } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startRelay } from '../support/relay.ts';
import { PASSWORD, ROOT, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openBroker, openConsole, openUserMenu, signIn, signOut } from './page.ts';

const PAGE = new URL('../../src/generated/console/page.html', import.meta.url);

describe.skipIf(!hasChromium)(hasChromium ? 'the sign-in of the console' : CHROMIUM_MISSING, () => {
  test('refuses a wrong password in words, and keeps the session of a right one over a reload, out of reach of scripts', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await checkScreen(page, 'sign-in');
    await page.getByLabel('E-mail address').fill(ROOT.email);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/password/i);
    await signIn(page);
    expect(await page.evaluate('document.cookie')).toBe('');
    const stored = await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })');
    expect(stored).not.toContain('bgs_');
    await page.reload();
    await page.getByText(ROOT.email).waitFor();
  });

  test('ends in all tabs with one log-out, and shows the sign-in if the session was revoked', async () => {
    const service = await startTestService();
    const { email, id } = await service.person('VIEWER');
    const page = await openConsole(service);
    await signIn(page, { email, password: PASSWORD });
    const other = await page.context().newPage();
    await other.goto(`${service.url}/`);
    await other.getByText(email).waitFor();
    await signOut(page);
    for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await service.storage.db.session.count({ where: { userId: id } })).toBe(1);
    await signIn(other, { email, password: PASSWORD });
    await service.services.auth.sessions.endAll(id);
    await other.reload();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(other, { email, password: PASSWORD });
  });

  test('signs in at the OpenID provider, which returns to the console', async () => {
    const { service, oidc } = await startSignInWorld();
    await addRule(service, { pattern: 'plant-ops' });
    const page = await openConsole(service, { provider: oidc.issuer });
    await page.goto(`${service.url}/?name=plant`);
    await page.getByRole('button', { name: 'Sign in at the identity provider' }).click();
    await page.fill('input[name=login]', 'ada');
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
    // What the service asks for has to be allowed once.
    await page.click('button[type=submit]');
    await page.getByText('ada@example.com').waitFor();
    expect(page.url()).toBe(`${service.url}/?name=plant`);
  });

  test('appears at once when the session is revoked, and leads back to the screen that was open', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const { email, id } = await service.person('VIEWER');
    const page = await openConsole(service);
    await signIn(page, { email, password: PASSWORD });
    await openBroker(page, broker.name, 'Denied');
    await page.getByText('mosquitto_pub -h 127.0.0.1').waitFor();
    const address = page.url();
    const other = await page.context().newPage();
    // A screen without live data.
    await other.goto(`${service.url}/#/account`);
    await other.getByRole('heading', { name: 'Your account' }).waitFor();
    await service.services.auth.sessions.endAll(id);
    for (const tab of [page, other]) await tab.getByText('Your session has ended').waitFor();
    await checkScreen(page, 'session-ended');
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: broker.name }).waitFor();
    expect(page.url()).toBe(address);
    // The other tab has the new session as well, without a second sign-in.
    await other.getByRole('heading', { name: 'Your account' }).waitFor();
  });

  test('appears when the session expires', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { email, id } = await service.person('VIEWER');
    const page = await openConsole(service);
    const { token } = await service.services.auth.sessions.open(id);
    await page.context().addCookies([{ name: 'brokergraph-session', value: token, url: service.url }]);
    await page.goto(`${service.url}/#/account`);
    await page.reload();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    const soon = Date.now() + 500;
    await service.storage.db.session.updateMany({
      where: { userId: id },
      data: { createdAt: new Date(soon - SESSION_LIFETIME_MS), expiresAt: new Date(soon) },
    });
    await service.storage.changes.announce('user', id);
    await page.getByText('Your session has ended').waitFor();
    await page.goto(`${service.url}/#/`);
    await signIn(page, { email, password: PASSWORD });
  });

  test('is not needed again after a restart of the service, during which the page says that it waits', async () => {
    const env = { PORT: String(await freePort()) };
    const dataDir = temporaryFolder();
    const before = await startTestService({ embeddedBroker: true, dataDir, env });
    const page = await openConsole(before, { expected: /ERR_|503|404/ });
    await signIn(page);
    await page.locator('.state.CONNECTED').waitFor();
    await before.close();
    await page.getByText('The connection is lost').waitFor();
    await page.locator('.state.stale').waitFor();
    // A screen that is opened meanwhile waits for its data.
    await page.evaluate("location.hash = '#/brokers/brk_unknown'");
    await page.getByText('The service does not respond').waitFor();
    await page.evaluate("location.hash = '#/'");
    await startTestService({ embeddedBroker: true, dataDir, env });
    await page.locator('.state.CONNECTED').waitFor();
    await page.getByText('The connection is lost').waitFor({ state: 'detached' });
  });

  test('is not needed again after the computer slept or had no network, and data is live again at once', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const relay = await startRelay(Number(new URL(service.url).port));
    const page = await openConsole({ ...service, url: relay.url.replace('mqtt', 'http') }, { expected: /ERR_/ });
    await signIn(page);
    await page.locator('.state.CONNECTED').waitFor();
    await page.context().setOffline(true);
    relay.cut();
    await page.getByText('The connection is lost').waitFor();
    await page.locator('.state.stale').waitFor();
    await page.context().setOffline(false);
    await page.locator('.state.CONNECTED').waitFor();
    await page.getByText('The connection is lost').waitFor({ state: 'detached' });
  });

  test('is not needed again after an update of the service, whose screens have other files', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const page = await openConsole(service, { expected: /404/ });
    await signIn(page);
    await openBroker(page, broker.name);
    await page.evaluate('window.isOld = true');
    const isScreen = (url: URL) => url.pathname.includes('console-refusals');
    await page.route(isScreen, (route) => route.fulfill({ status: 404 }), { times: 1 });
    const updated = (await readFile(PAGE, 'utf8')).replaceAll(/console-[\w-]+\.js/g, 'console-new.js');
    await page.route(`${service.url}/`, (route) => route.fulfill({ contentType: 'text/html', body: updated }), {
      times: 1,
    });
    await page.getByRole('link', { name: 'Denied' }).click();
    await page.getByText('mosquitto_pub -h 127.0.0.1').waitFor();
    expect(await page.evaluate('window.isOld')).toBeUndefined();
    expect(page.url()).toContain('/refusals');
  });

  test('speaks German to a German browser, and remembers another choice', async () => {
    const service = await startTestService();
    const page = await openConsole(service, { locale: 'de-DE' });
    await page.getByLabel('Passwort').fill(ROOT.password);
    await page.getByLabel('E-Mail-Adresse').fill(ROOT.email);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await openUserMenu(page);
    await page.getByLabel('Sprache').selectOption('English');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  });
});
