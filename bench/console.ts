/**
 * Shows many MQTT clients of the embedded broker in the console, in Chromium. Measures frames while the list scrolls,
 * the time from a key to the filtered list, the time until a new client is listed, the memory of the tab, and the
 * longest task of the page while clients connect and disconnect. Linux only.
 *
 * `console [clients] [changes a second] [seconds]`, 100,000, 1,000 and 60 by default. The limit of open files and the
 * limit of the broker bound the number of connected clients. The other clients are offline with persistent sessions.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'mqtt-packet';
import type { Page } from 'playwright-core';
import { check } from './support/bars.ts';
import { clientId } from './support/client-id.ts';
import { at } from './support/figures.ts';
import { startProduct } from './support/product.ts';
import { openTab } from './support/tab.ts';

const CLIENTS = Number(process.argv[2] ?? 100_000);
const RATE = Number(process.argv[3] ?? 1_000);
const SECONDS = Number(process.argv[4] ?? 60);
/** The product needs some of the open files itself. Its broker accepts at most 20,000 connections. */
const CONNECTED = Math.min(CLIENTS, openFiles() - 1_000, 19_000);
const PER_PROCESS = 10_000;
const MAX_ROWS = 60;
const MAX_FRAME_MS = 50;
const MAX_FILTER_MS = 300;
const MAX_TAB_MB = 150;
const MAX_TASK_MS = 200;
const FILTERS = 40;
const ARRIVALS = 20;
const MAX_ARRIVAL_MS = 1_000;

const children: ChildProcess[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-console-'));
const product = await startProduct(dataDir);
const token = await product.login();
const tab = await openTab(product.url, token);
try {
  const started = performance.now();
  await startClients(0, CONNECTED, 'connected');
  await startClients(CONNECTED, CLIENTS - CONNECTED, 'offline');
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${CONNECTED} clients are connected, ${CLIENTS - CONNECTED} left a session: ${seconds.toFixed(0)} s`);
  await openList(tab.page);
  await scrolling(tab.page);
  await filters(tab.page);
  await arrivals(tab.page);
  await memory('after scrolling and filtering');
  await changes(tab.page);
  await memory('after the changes');
} finally {
  for (const child of children) if (child.connected) child.disconnect();
  await tab.close();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function openList(page: Page): Promise<void> {
  page.setDefaultTimeout(120_000);
  await page.reload();
  await page.getByRole('rowheader').getByRole('link').first().click();
  const opened = performance.now();
  await page.getByRole('link', { name: 'Clients' }).click();
  await page
    .getByRole('rowheader', { name: clientId(0).split('/')[0] ?? '' })
    .first()
    .waitFor({ timeout: 120_000 });
  console.log(`\nthe list is shown after ${(performance.now() - opened).toFixed(0)} ms`);
  const count = Number(await page.getByRole('grid').getAttribute('aria-rowcount'));
  check(`${count - 1} clients are listed`, count - 1 > CLIENTS);
}

/** Each frame moves the list by ten rows, which is faster than a wheel. Every second it jumps. */
async function scrolling(page: Page): Promise<void> {
  console.log('\nscrolling');
  const { frames, mostRows } = await page.evaluate<{ frames: number[]; mostRows: number }>(`new Promise((resolve) => {
    const list = document.querySelector('.clients-scroller');
    const frames = [];
    let mostRows = 0;
    let last = performance.now();
    const step = (now) => {
      frames.push(now - last);
      last = now;
      mostRows = Math.max(mostRows, document.querySelectorAll('tr').length);
      if (frames.length % 60 === 0) list.scrollTop = (list.scrollHeight * (frames.length % 420)) / 420;
      else list.scrollTop += 360;
      if (frames.length < 600) requestAnimationFrame(step);
      else resolve({ frames: frames.slice(1), mostRows });
    };
    requestAnimationFrame(step);
  })`);
  frames.sort((a, b) => a - b);
  const p95 = at(frames, 0.95);
  console.log(`  frames: p50 ${at(frames, 0.5).toFixed(0)} ms, longest ${(frames.at(-1) ?? 0).toFixed(0)} ms`);
  check(`p95 ${p95.toFixed(0)} ms a frame (at most ${MAX_FRAME_MS})`, p95 <= MAX_FRAME_MS);
  check(`at most ${mostRows} rows are in the page (at most ${MAX_ROWS})`, mostRows <= MAX_ROWS);
}

/** From the event of the last key until all rows in the page match. */
async function filters(page: Page): Promise<void> {
  console.log('\na filter');
  const times: number[] = [];
  for (let turn = 0; turn < FILTERS; turn++) {
    const value = `-${turn.toString(16).padStart(2, '0')}`;
    const milliseconds = await page.evaluate<number>(`new Promise((resolve) => {
      const input = document.querySelector('input[type=search]');
      input.value = ${JSON.stringify(value)};
      const began = performance.now();
      input.dispatchEvent(new Event('input', { bubbles: true }));
      const look = () => {
        const rows = [...document.querySelectorAll('.clients-grid tbody th')];
        if (rows.length > 0 && rows.every((row) => row.textContent.includes(input.value))) resolve(performance.now() - began);
        else requestAnimationFrame(look);
      };
      look();
    })`);
    times.push(milliseconds);
  }
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  times.sort((a, b) => a - b);
  const p95 = at(times, 0.95);
  console.log(`  p50 ${at(times, 0.5).toFixed(0)} ms, longest ${(times.at(-1) ?? 0).toFixed(0)} ms`);
  check(`p95 ${p95.toFixed(0)} ms (at most ${MAX_FILTER_MS})`, p95 <= MAX_FILTER_MS);
}

/** From CONNACK until the client is in the list. */
async function arrivals(page: Page): Promise<void> {
  console.log('\na client that connects');
  await page.locator('input[type=search]').first().fill('zz-passing');
  await page.getByText('No client matches the filter.').waitFor();
  const times: number[] = [];
  for (let turn = 0; turn < ARRIVALS; turn++) {
    const id = `zz-passing-${turn}`;
    const row = page.getByRole('rowheader', { name: id, exact: true });
    const shown = row.waitFor();
    const socket = connect(product.mqttPort, '127.0.0.1');
    const account = { username: 'admin', password: Buffer.from(product.mqttPassword) };
    socket.write(generate({ cmd: 'connect', clientId: id, ...account, clean: true, keepalive: 0 }));
    await once(socket, 'data');
    const connected = performance.now();
    await shown;
    times.push(performance.now() - connected);
    socket.destroy();
    await row.waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  times.sort((a, b) => a - b);
  const longest = times.at(-1) ?? 0;
  console.log(`  p50 ${at(times, 0.5).toFixed(0)} ms`);
  check(`is shown within ${longest.toFixed(0)} ms (at most ${MAX_ARRIVAL_MS})`, longest <= MAX_ARRIVAL_MS);
}

async function changes(page: Page): Promise<void> {
  console.log(`\n${RATE} changes a second`);
  await page.evaluate(`
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask' });
  `);
  const args = [product.mqttPort, RATE, SECONDS].map(String);
  const env = { ...process.env, MQTT_PASSWORD: product.mqttPassword };
  const began = performance.now();
  const child = fork(new URL('./support/mqtt-churn.js', import.meta.url), args, { env });
  const [changed] = await once(child, 'message');
  const seconds = (performance.now() - began) / 1_000;
  const rate = changed / seconds;
  const tasks = await page.evaluate<number[]>('window.tasks');
  const longest = Math.max(0, ...tasks);
  console.log(
    `  ${changed} changes in ${seconds.toFixed(0)} s: ${rate.toFixed(0)} a second; ${tasks.length} long tasks`,
  );
  check(`the longest task of the page takes ${longest.toFixed(0)} ms (below ${MAX_TASK_MS})`, longest < MAX_TASK_MS);
}

async function memory(when: string): Promise<void> {
  const megabytes = await tab.memory();
  check(`${when}, the tab has ${megabytes.toFixed(0)} MB (at most ${MAX_TAB_MB})`, megabytes <= MAX_TAB_MB);
}

function openFiles(): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1_024);
}

async function startClients(first: number, count: number, kind: 'connected' | 'offline'): Promise<void> {
  for (let start = first; start < first + count; start += PER_PROCESS) {
    const args = [product.mqttPort, start, Math.min(PER_PROCESS, first + count - start), kind].map(String);
    const env = { ...process.env, MQTT_PASSWORD: product.mqttPassword };
    const child = fork(new URL('./support/mqtt-clients.js', import.meta.url), args, { env });
    children.push(child);
    await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', () => reject(new Error('A process with clients exited')));
    });
    if (kind === 'offline') child.disconnect();
  }
}
