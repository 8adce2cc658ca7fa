import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { ROOT, startTestService } from '../support/service.ts';
import { checkScreen, openFleet, openUserMenu } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the menu of the user' : CHROMIUM_MISSING, () => {
  test('changes theme and language, which the browser remembers', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await openUserMenu(page);
    await checkScreen(page, 'user-menu');
    await page.getByLabel('Theme').selectOption('dark');
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    expect(await background()).toBe('rgb(15, 18, 23)');
    await page.getByLabel('Language').selectOption('Español');
    await page.getByRole('heading', { name: 'Flota' }).waitFor();
    await page.getByLabel('Idioma').selectOption('Deutsch');
    await page.getByRole('heading', { name: 'Flotte' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Flotte' }).waitFor();
    expect(await background()).toBe('rgb(15, 18, 23)');
    await openUserMenu(page);
    await page.getByLabel('Farben').selectOption('wie das System');
    expect(await background()).toBe('rgb(247, 248, 250)');
  });

  test('works by the keyboard, shows the keys, and returns the focus', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    const opener = page.getByRole('button', { name: ROOT.email });
    const menu = page.getByRole('region', { name: 'Account and display' });
    const focused = () => page.evaluate(`document.activeElement.getAttribute('popovertarget')`);
    await opener.focus();
    await page.keyboard.press('Enter');
    await menu.waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Your account');
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'hidden' });
    expect(await focused()).toBe('user-menu');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Keys' }).click();
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(await menu.isVisible()).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await focused()).toBe('user-menu');
    // An action of the menu closes it.
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    expect(await menu.isVisible()).toBe(false);
    // Keys lead to screens.
    for (const [key, name] of [
      ['h', 'Fleet'],
      ['n', 'Notifications'],
      ['u', 'Your account'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
  });
});
