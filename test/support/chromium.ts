import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished } from './shared.ts';

const PROGRAM = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((path) => existsSync(path));

export const hasChromium = PROGRAM !== undefined;
export const CHROMIUM_MISSING = 'chromium is not installed (Debian: apt-get install chromium)';

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

/** Starts a real browser without a window. It is closed after the test. */
export async function startChromium(): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(CHROMIUM_MISSING);
  const browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  onTestFinished(() => browser.close());
  return browser;
}
