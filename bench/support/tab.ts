/** A tab of Chromium that shows a page of the product. Linux only. */
import { type Browser, chromium, type Page } from 'playwright-core';
import { chromiumProgram } from '../../test/support/chromium-program.ts';
import { memoryOf } from './memory.ts';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

interface Tab {
  readonly page: Page;
  /** Memory of the process of the tab in MB, after garbage collection. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumProgram(), args: FLAGS });
}

/** Opens the console, signed in. */
export async function openTab(url: string, token: string): Promise<Tab> {
  const browser = await launchChromium();
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${url}/`);
  // A request of the page itself, because the service refuses those of other origins.
  const body = JSON.stringify({ token });
  await page.evaluate(
    `fetch('auth/session', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(body)} })`,
  );
  await page.reload();
  const system = await browser.newBrowserCDPSession();
  const tab = await context.newCDPSession(page);
  return {
    page,
    async memory() {
      await tab.send('HeapProfiler.collectGarbage');
      const { processInfo } = await system.send('SystemInfo.getProcessInfo');
      // Chromium starts another, empty one for the next tab.
      const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => memoryOf(id).pss);
      return Math.max(...renderers);
    },
    close: () => browser.close(),
  };
}
