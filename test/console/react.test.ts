import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { temporaryFolder } from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openConsole, signIn } from './page.ts';

/** React marks the element that it renders into. */
const IS_REACT = "Object.keys(document.getElementById('console')).some((key) => key.startsWith('__reactContainer'))";

interface Bundler {
  bundleConsole(options: { readonly folder: string; readonly isReact: boolean }): Promise<void>;
}

describe.skipIf(!hasChromium)(hasChromium ? 'the console with React instead of Preact' : CHROMIUM_MISSING, () => {
  test('signs in, shows the fleet live, and opens dialogs', async () => {
    const script = new URL('../../scripts/console/bundle.mjs', import.meta.url);
    const { bundleConsole } = (await import(/* @vite-ignore */ script.href)) as Bundler;
    const folder = temporaryFolder();
    await bundleConsole({ folder, isReact: true });
    const service = await startTestService({ embeddedBroker: true });
    const { name } = await firstBroker(service);
    // The page is that of the service, with its Content Security Policy. Only its scripts are the others.
    const page = await openConsole(service);
    const entryIn = (text: string) => /src="console\/([^"]+)"/.exec(text)?.[1];
    const entry = entryIn(await (await fetch(`${service.url}/`)).text());
    const ofReact = String(entryIn(readFileSync(join(folder, 'page.html'), 'utf8')));
    await page.route(`${service.url}/console/*.js`, (route) => {
      const name = basename(route.request().url());
      if (name === entry) return route.fulfill({ contentType: 'text/javascript', body: `import './${ofReact}';` });
      // The page preloads scripts of Preact, which nothing imports.
      const file = join(folder, name);
      return existsSync(file) ? route.fulfill({ path: file }) : route.continue();
    });
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate(IS_REACT)).toBe(true);
    await signIn(page);
    await page.locator('.state.CONNECTED').waitFor();
    await page.getByLabel('Filter by name').fill(name.slice(1, 5));
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual([name]);

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Screens' }).fill('peop');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'People' }).waitFor();
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.getByRole('dialog').getByLabel('E-mail address').fill('ada@example.com');
    await page.getByRole('dialog').getByLabel('First password').fill('a good password');
    await checkScreen(page, 'people-react');
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader', { name: 'ada@example.com' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
