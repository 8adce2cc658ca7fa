/**
 * Loads the console in Chromium on a computer that is four times slower, over 10 Mbit/s with a latency of 40 ms and
 * with an empty cache. Measures the time until the sign-in is painted, and how much memory of the service all files of
 * the console take. Linux only. Run `npm run build` first.
 *
 * `console-load [loads]`, 10 by default. The shortest time counts, because other programs make a load only longer.
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { check } from './support/bars.ts';
import { at } from './support/figures.ts';
import { memoryOfTree } from './support/memory.ts';
import { type Product, startProduct } from './support/product.ts';
import { launchChromium } from './support/tab.ts';

const LOADS = Number(process.argv[2] ?? 10);
const CPU_SLOWDOWN = 4;
const BYTES_PER_SECOND = 10_000_000 / 8;
const LATENCY_MS = 40;
const MAX_SHOWN_MS = 1_500;
const MAX_FILES_MB = 5;
const SETTLED_MS = 10_000;
const FILES = join(process.cwd(), 'dist/generated/console');

/** Records when the sign-in is painted, in milliseconds since the start of the navigation. */
const WATCH = `window.shown = new Promise((resolve) => {
  new MutationObserver((_changes, observer) => {
    if (document.querySelector('.sign-in form') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  }).observe(document, { childList: true, subtree: true });
});`;

const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-console-load-'));
const product = await startProduct(dataDir);
const browser = await launchChromium();
try {
  await files(product);
  await signIn(browser, product);
} finally {
  await browser.close();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function signIn(chromium: Browser, { url }: Product): Promise<void> {
  const times: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const context = await chromium.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    const devTools = await context.newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
    await devTools.send('Network.enable');
    const throughput = { downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND };
    await devTools.send('Network.emulateNetworkConditions', { offline: false, latency: LATENCY_MS, ...throughput });
    await page.addInitScript(WATCH);
    await page.goto(`${url}/`);
    times.push(await page.evaluate<number>('window.shown'));
    await context.close();
  }
  times.sort((a, b) => a - b);
  const [shortest = Number.NaN] = times;
  const load = loadavg()[0]?.toFixed(1);
  console.log(`\nsign-in: p50 ${at(times, 0.5).toFixed(0)} ms of ${LOADS} loads, load average ${load}`);
  check(`is shown after ${shortest.toFixed(0)} ms (at most ${MAX_SHOWN_MS})`, shortest <= MAX_SHOWN_MS);
}

/** Requests all files as a browser does that opens each screen. */
async function files({ url, process: { pid = 0 } }: Product): Promise<void> {
  const memory = () => memoryOfTree(pid).reduce((sum, { pss }) => sum + pss, 0);
  await delay(SETTLED_MS);
  const before = memory();
  await (await fetch(`${url}/`)).arrayBuffer();
  for (const name of readdirSync(FILES).filter((one) => /\.(js|css)$/.test(one))) {
    const response = await fetch(`${url}/console/${name}`, { headers: { 'accept-encoding': 'br' } });
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    await response.arrayBuffer();
  }
  await delay(SETTLED_MS);
  const added = memory() - before;
  console.log(`\nmemory of the service: ${before.toFixed(0)} MB after the start`);
  check(`all files of the console add ${added.toFixed(1)} MB (at most ${MAX_FILES_MB})`, added <= MAX_FILES_MB);
}
