import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { chromiumProgram } from './chromium-program.ts';

export { CHROMIUM_MISSING, hasChromium } from './chromium-program.ts';

/** Disable the window and background activity. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let running: Promise<Browser> | undefined;
/** By locale: a test seldom has two pages of its own, of which one remains. */
const idle = new Map<string, Page>();

async function launch(): Promise<Browser> {
  // The import takes long, and all test files load this module.
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath: chromiumProgram(), args: FLAGS });
  browser.once('disconnected', forget);
  return browser;
}

/** The next test starts another one. */
function forget(): void {
  running = undefined;
  idle.clear();
}

/** The browser of this process, which serves all its test files, and ends with it. */
function browserOfProcess(): Promise<Browser> {
  running ??= launch().catch((error) => {
    forget();
    throw error;
  });
  return running;
}

/** A real browser without a window. The contexts of a test are closed after the test. */
export async function startChromium(): Promise<Browser> {
  const browser = await browserOfProcess();
  const others = browser.contexts();
  onTestFinished(async () => {
    for (const context of browser.contexts()) if (!others.includes(context)) await context.close();
  });
  return browser;
}

/**
 * A page in a context of its own. Both are emptied after the test, and serve the next test of the file: a new process
 * would load and compile the scripts again, which takes most of a test.
 */
export async function openPage(locale: string): Promise<Page> {
  const page = idle.get(locale) ?? (await (await (await browserOfProcess()).newContext({ locale })).newPage());
  idle.delete(locale);
  // Only ends tests that hang, as the limits of vitest.config.ts.
  page.setDefaultTimeout(120_000);
  onTestFinished(async ({ task }) => {
    // A test that failed may still wait for its page.
    if (page.isClosed() || task.result?.state === 'fail') {
      await tellShown(page);
      return page.context().close();
    }
    await empty(page);
    idle.set(locale, page);
  });
  return page;
}

/** A failed wait says only what the page did not show. */
async function tellShown(page: Page): Promise<void> {
  if (page.isClosed()) return;
  const shown = await page.locator('body').ariaSnapshot();
  console.log(`${page.url()} showed:\n${shown.slice(0, 8_000)}`);
}

async function empty(page: Page): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  for (const event of ['console', 'pageerror', 'request']) page.removeAllListeners(event);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.setOffline(false);
  // An error page has no storage.
  await page.evaluate('try { localStorage.clear(); sessionStorage.clear(); } catch {}');
  await page.goto('about:blank');
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize({ width: 1280, height: 720 });
  await context.clearCookies();
  await context.clearPermissions();
}
