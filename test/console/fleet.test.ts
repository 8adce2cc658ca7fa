import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startRelay } from '../support/relay.ts';
import { startTestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, openConsole, openFleet, queriesOf } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the fleet' : CHROMIUM_MISSING, () => {
  test('shows brokers with their state, which follows a Mosquitto that stops, and a filter that a reload keeps', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const embedded = await firstBroker(service);
    const mosquitto = await startMosquitto();
    const page = await openFleet(service);
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
    await row(embedded.name).getByText('connected', { exact: true }).waitFor();
    await addBroker(service, mosquitto.url);
    await row('plant').getByText('connected', { exact: true }).waitFor();
    await page.getByRole('contentinfo').getByText('Times are in the zone ').waitFor();
    // Links look the same, whatever they are in.
    const looks = await page
      .locator('main :is(h2, th, td) a:not([class])')
      .evaluateAll((links) =>
        links.map((link) => `${getComputedStyle(link).color} ${getComputedStyle(link).fontWeight}`),
      );
    expect(looks.length).toBeGreaterThanOrEqual(3);
    expect(new Set(looks).size).toBe(1);
    await checkScreen(page, 'fleet');
    await mosquitto.stop();
    await row('plant').getByText('unreachable').waitFor();

    // The service itself has connections as well.
    const clients = async () => Number(await row(embedded.name).getByRole('cell').nth(2).textContent());
    const ids = Array.from({ length: 5 }, (_, n) => `dev-${n}`);
    for (const clientId of ids) {
      await startClient(embedded.url, { clientId, username: 'admin', password: embedded.password });
    }
    await expect.poll(clients).toBeGreaterThanOrEqual(ids.length);
    await page.getByLabel('Filter by name').fill('plan');
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['plant']);
    await page.reload();
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['plant']);
  });

  test('says how to add the first broker of a project, and shows a person only what they may see', async () => {
    const service = await startTestService();
    const { token } = await service.person('VIEWER');
    const secret = await service.graphql('mutation { createProject(input: { name: "secret" }) { project { id } } }');
    expect(secret.errors).toBeUndefined();
    const page = await openFleet(service, token);
    await page.getByText(`/api/projects/${service.projectId}/brokers`).waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 2 }).count()).toBe(1);
    // A project of the console has strict roles at once.
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByLabel('Name', { exact: false }).last().fill('hers');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'hers' }).waitFor();
    expect(await service.storage.db.project.findFirst({ where: { name: 'hers' } })).toMatchObject({
      strictRoles: true,
    });
  });

  test('shows 110 brokers in pages, each with its state, and the last hour of a page by one query', async () => {
    const service = await startTestService();
    const { db, changes } = service.storage;
    const broker = {
      projectId: service.projectId,
      type: 'SELF_HOSTED',
      url: 'mqtt://127.0.0.1:1',
      trustedUrl: true,
    } as const;
    const data = Array.from({ length: 110 }, (_, n) => ({ ...broker, id: `brk_${n}`, name: `hall-${n}` }));
    await db.broker.createMany({ data });
    for (const { id } of data) await changes.announce('broker', id);
    const page = await openConsole(service, { token: service.root });
    const queries = queriesOf(page);
    await page.getByText('Page 1 of 3').waitFor();
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(50);
    await expect.poll(() => page.locator('.sparkline[role=img]').count()).toBeGreaterThanOrEqual(50);
    const hours = () => queries.filter(({ name }) => name === 'HoursOfBrokers');
    // It is sent again if the order of the problems, which are found meanwhile, brings another broker to the page.
    expect(hours()).not.toHaveLength(0);
    for (const { variables } of hours()) expect(variables).toMatchObject({ first: 50, offset: 0 });
    // The fleet knows the number in the menu.
    expect(queries.some(({ name }) => name === 'CriticalProblems')).toBe(false);
    const isUnreachable = page.getByRole('cell').getByText('unreachable', { exact: true });
    await expect.poll(() => isUnreachable.count(), { interval: 250 }).toBe(50);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2 of 3').waitFor();
    await expect.poll(() => hours().at(-1)?.variables).toMatchObject({ offset: 50 });

    // An address may name a page beyond the last one: the last one is shown.
    await page.goto(`${service.url}/?${service.projectId}=9#/`);
    await page.getByText('Page 3 of 3').waitFor();
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(10);

    // What is wrong is a link, and so is each filter.
    await page.getByRole('link', { name: '110 of 110 not connected' }).click();
    await expect.poll(() => page.url()).toContain('show=away');
    await page.getByText('Page 1 of 3').waitFor();
    await expect.poll(() => hours().at(-1)?.variables).toMatchObject({ offset: 0, filter: { isConnected: false } });
    await page.getByRole('button', { name: 'Broker', exact: true }).click();
    await expect.poll(() => page.url()).toContain('sort=NAME');
    await expect.poll(() => page.getByRole('rowheader').first().textContent()).toBe('hall-0');
    await page.getByRole('button', { name: 'Broker', exact: true }).click();
    await expect.poll(() => page.getByRole('rowheader').first().textContent()).toBe('hall-99');

    // Choices have all of them.
    await page.getByRole('rowheader').first().getByRole('link').click();
    await page.getByRole('button', { name: 'Another broker of the project' }).click();
    await expect.poll(() => page.locator('.menu:popover-open').getByRole('link', { name: 'hall-' }).count()).toBe(110);
  });

  test('shows what is wrong in each of 110 projects, which is not live and has its time', async () => {
    const service = await startTestService();
    const { db, changes } = service.storage;
    const { ownerUserId } = await db.project.findFirstOrThrow();
    const data = Array.from({ length: 110 }, (_, n) => ({ id: `prj_${n}`, name: `plant-${n}`, ownerUserId }));
    await db.project.createMany({ data });
    for (const { id } of data) await changes.announce('project', id);
    for (const [n, { id: projectId }] of data.entries()) {
      if (n % 11 === 0) await addBroker({ ...service, projectId }, 'mqtt://127.0.0.1:1', { name: `press-${n}` });
    }
    const page = await openFleet(service);
    await page.getByText('There are 111 projects').getByText('As of').waitFor({ timeout: 60_000 });
    await page.getByText('Needs attention 10').waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Show 7 more' }).click();
    await page.locator('.attention').getByText('press-99', { exact: false }).first().waitFor();
  });

  test('shows totals with their trend, and brokers as tiles, which the address remembers', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const embedded = await firstBroker(service);
    await addBroker(service, 'mqtt://127.0.0.1:1');
    const page = await openFleet(service);
    const total = (title: string) => page.locator('.figures > div').filter({ hasText: title });
    await total('Brokers').getByText('1 not connected').waitFor();
    await expect
      .poll(() => total('Clients').locator('strong').textContent(), { timeout: 60_000 })
      .toMatch(/^[1-9]\d*$/);
    await total('Clients')
      .getByRole('img', { name: /^Clients: lowest/ })
      .waitFor();
    // A total is known as soon as a row is, and states what it counts only if that is less than all.
    await total('Clients').getByText('1 of 2 brokers').waitFor();
    await expect.poll(() => total('Received/s').locator('strong').textContent()).not.toBe('–');
    await total('Problems').getByText('at 1 broker').waitFor({ timeout: 60_000 });
    await page.getByRole('link', { name: 'Tiles' }).click();
    await expect.poll(() => page.url()).toContain('view=tiles');
    const tiles = page.locator('.tiles > li');
    // What is wrong comes first.
    await expect.poll(() => tiles.first().textContent()).toContain('plant');
    await expect.poll(() => tiles.last().textContent()).toContain(embedded.name);
    await checkScreen(page, 'fleet-tiles');
    await page.reload();
    await expect.poll(() => tiles.count()).toBe(2);
    await total('Problems').getByRole('link').click();
    await expect.poll(() => tiles.allTextContents()).toHaveLength(1);
    expect(page.url()).toContain('view=tiles');
    await tiles.getByRole('link', { name: 'plant' }).click();
    await page.getByRole('heading', { level: 1, name: 'plant' }).waitFor();
  });

  test('leads through the first steps until each is done', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { url, password } = await firstBroker(service);
    const page = await openFleet(service);
    const step = (name: string) => page.locator('.first-steps li').filter({ hasText: name });
    await step('Connect a device').getByRole('link', { name: 'Connect a device' }).waitFor();
    expect(await page.locator('.first-steps .done').count()).toBe(0);
    // Brokers are in the upper half of the screen; the steps are a line below them.
    await page.setViewportSize({ width: 1440, height: 900 });
    const [brokers, steps] = await Promise.all(
      ['.wide', '.first-steps'].map((name) => page.locator(name).first().boundingBox()),
    );
    expect(brokers?.y).toBeLessThan(450);
    expect(steps?.y).toBeGreaterThan(brokers?.y ?? 0);
    expect(steps?.height).toBeLessThan(60);
    await checkScreen(page, 'first-steps');
    await startClient(url, { clientId: 'dev-1', username: 'admin', password });
    await step('Connect a device').getByRole('img', { name: 'Done' }).waitFor();

    await step('Add your Mosquitto').getByRole('button').click();
    await page.getByLabel(/^Address/).fill('mqtt://127.0.0.1:1');
    await page.getByLabel(/^Name/).fill('plant');
    await page.getByLabel(/^Name/).press('Enter');
    // It leads to what the broker lacks.
    await page.getByRole('heading', { level: 1, name: 'plant' }).waitFor();
    await page.goBack();
    await step('Add your Mosquitto').getByRole('img', { name: 'Done' }).waitFor();
    await page.getByRole('rowheader', { name: 'plant' }).waitFor();
    await service.person('VIEWER');
    await page.locator('.first-steps').waitFor({ state: 'detached' });
  });

  test('explains the first steps without a broker, and hides them for a person who does not want them', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await page.getByText('point a device at it').waitFor();
    await page.getByRole('button', { name: 'Hide the first steps' }).click();
    await page.locator('.first-steps').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('There is no broker yet').waitFor();
    expect(await page.locator('.first-steps').count()).toBe(0);
  });

  test('says at once that its connection is lost, marks what is old, and goes on by itself', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const relay = await startRelay(Number(new URL(service.url).port));
    const page = await openFleet({ ...service, url: relay.url.replace('mqtt', 'http') });
    const state = page.getByRole('cell', { name: 'connected' });
    await state.waitFor();
    // Recorded in the page, because the console may connect again before the test looks.
    await page.evaluate(`
      window.seen = [];
      new MutationObserver(() => {
        const isLost = document.querySelector('[role=status]') !== null;
        const isStale = document.querySelector('.state.stale') !== null;
        window.seen.push(isLost + ' ' + isStale);
      }).observe(document.body, { childList: true, subtree: true, attributes: true });
    `);
    relay.cut();
    await expect.poll(() => page.evaluate('window.seen')).toContain('true true');
    await page.locator('.state.CONNECTED').waitFor();
    await page.getByRole('status').waitFor({ state: 'detached' });
  });
});
