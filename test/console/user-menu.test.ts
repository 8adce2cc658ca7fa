import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { ROOT, startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openFleet, openUserMenu } from './page.ts';

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
  });

  test('keys lead to screens, filters, rows, tabs and pages, and the list has those of the person', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { name, url, password } = await firstBroker(service);
    for (const clientId of ['a', 'b']) await startClient(url, { clientId, username: 'admin', password });
    const page = await openFleet(service);
    const heading = (level: number, of: string) => page.getByRole('heading', { level, name: of });
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate('document.activeElement.textContent');
    for (const [key, title] of [
      ['p', 'People'],
      ['a', 'Audit'],
      ['n', 'Notifications'],
      ['o', 'Organizations'],
      ['s', 'Service'],
      ['u', 'Your account'],
      ['h', 'Fleet'],
    ] as const) {
      await press('g', key);
      await heading(1, title).waitFor();
    }
    await page.getByRole('rowheader', { name }).waitFor();
    await press('j');
    await expect.poll(focused).toBe(name);
    await press('Enter');
    await heading(1, name).waitFor();
    await press(']');
    await page.locator('.tabs [aria-current=page]', { hasText: 'Clients' }).waitFor();
    // The current row of the clients is the first one at first.
    await page.getByRole('grid').waitFor();
    await press('j', 'j');
    await page.locator('[role=grid]:focus [aria-rowindex="3"][aria-selected=true]').waitFor();
    await press('k');
    await page.locator('[role=grid]:focus [aria-rowindex="2"][aria-selected=true]').waitFor();
    await press('/');
    await page.keyboard.type('?j/');
    expect(await page.evaluate('document.activeElement.value')).toBe('?j/');
    await page.getByRole('link', { name: 'Clients', exact: true }).focus();
    await press('[');
    await page.locator('.tabs [aria-current=page]', { hasText: 'Overview' }).waitFor();
    await press('g', 'u');
    await heading(1, 'Your account').waitFor();
    // Without a filter, the search opens.
    await press('/');
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    await press('Escape');
    await press('?');
    const listed = () => page.getByRole('dialog', { name: 'Keys' }).getByRole('term').allTextContents();
    expect(await listed()).toEqual(
      ['Ctrl K', '/', 'g h', 'g p', 'g a', 'g n', 'g o', 'g s', 'g e', 'g u', 'j k', '[ ]', '?', '↑ ↓'].concat(
        'Enter',
        'Esc',
        'Tab',
      ),
    );

    await press('Escape', 'g', 'e');
    await page.waitForURL(`${service.url}/graphql`);

    const viewer = await openFleet(service, (await service.person('VIEWER')).token);
    await viewer.keyboard.press('g');
    await viewer.keyboard.press('p');
    await viewer.keyboard.press('?');
    const keys = viewer.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('g u').waitFor();
    expect(await keys.getByText(/^g [pans]$/).count()).toBe(0);
    expect(await viewer.evaluate('location.hash')).toMatch(/^(#\/)?$/);
  });
});
