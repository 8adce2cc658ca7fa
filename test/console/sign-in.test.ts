import { describe, expect, test } from 'vitest';
import { startSignInWorld } from '../domains/sign-in/oidc-world.ts';
import { addRule } from '../domains/sign-in/sign-in-steps.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { PASSWORD, ROOT, startTestService } from '../support/service.ts';
import { checkScreen, openConsole, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the sign-in of the console' : CHROMIUM_MISSING, () => {
  test('refuses a wrong password in words, and keeps the session of a right one over a reload, out of reach of scripts', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await checkScreen(page, 'sign-in');
    await page.getByLabel('E-mail address').fill(ROOT.email);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').textContent()).toMatch(/password/i);
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
    await page.getByRole('button', { name: 'Sign out' }).click();
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
    await page.getByRole('button', { name: 'Sign in at the identity provider' }).click();
    await page.fill('input[name=login]', 'ada');
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
    // What the service asks for has to be allowed once.
    await page.click('button[type=submit]');
    await page.getByText('ada@example.com').waitFor();
    expect(page.url()).not.toContain('code');
  });

  test('speaks German to a German browser, and remembers another choice', async () => {
    const service = await startTestService();
    const page = await openConsole(service, { locale: 'de-DE' });
    await page.getByLabel('Passwort').fill(ROOT.password);
    await page.getByLabel('E-Mail-Adresse').fill(ROOT.email);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByLabel('Sprache').selectOption('English');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  });
});
