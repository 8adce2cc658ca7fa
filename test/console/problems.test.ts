import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { addBroker, checkScreen, openActions, openFleet } from './page.ts';

const UNREACHABLE = 'The broker cannot be reached';
/** A problem opens and closes after some seconds, on a busy machine. */
const SLOW = { timeout: 60_000 };

const openScreen = async (page: Page, { url, projectId }: TestService, screen: string) => {
  await page.goto(`${url}/#/projects/${projectId}/${screen}`);
  await page.getByText('Your role').waitFor();
};
const item = (page: Page) => page.getByRole('listitem').filter({ hasText: UNREACHABLE });
const dialog = (page: Page) => page.getByRole('dialog');
const badge = (page: Page) => page.getByRole('link', { name: 'Problems 1 critical' });

async function choose(page: Page, action: string): Promise<void> {
  await item(page)
    .getByRole('button', { name: `Actions: ${UNREACHABLE}` })
    .click();
  await page.getByRole('button', { name: action }).click();
}

describe.skipIf(!hasChromium)(hasChromium ? 'problems' : CHROMIUM_MISSING, () => {
  test('appear live on all screens when a Mosquitto stops, are acknowledged and silenced, and end with their duration', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const mosquitto = await startMosquitto();
    await addBroker(service, mosquitto.url);
    const page = await openFleet(service);
    await page.getByText('Nothing needs attention.').waitFor(SLOW);
    await page.getByRole('cell', { name: 'connected', exact: true }).nth(1).waitFor();
    await mosquitto.stop();
    await item(page).getByText('What would help: Check that the broker runs').waitFor(SLOW);
    await expect.poll(() => page.title()).toBe('(1) Fleet – Brokergraph');
    await checkScreen(page, 'fleet-problem');

    await openScreen(page, service, 'problems');
    await badge(page).waitFor();
    await expect.poll(() => page.title()).toMatch(/^\(1\) Problems · /);
    await page.getByRole('heading', { name: /^Open problems \(\d+\)$/ }).waitFor();
    await checkScreen(page, 'project-problems');

    await choose(page, 'Acknowledge');
    await page.keyboard.type('on my way');
    await page.keyboard.press('Enter');
    await item(page).getByText('· on my way').waitFor();
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Acknowledged').selectOption('no');
    await expect.poll(() => item(page).count()).toBe(0);
    await page.reload();
    await page.getByRole('heading', { name: /^Open problems/ }).waitFor();
    expect(await item(page).count()).toBe(0);
    await page.getByRole('button', { name: 'Clear the filter' }).click();

    await choose(page, 'Silence for maintenance');
    await dialog(page).getByLabel('Why').fill('repairs');
    // What was typed survives Escape.
    await page.keyboard.press('Escape');
    await choose(page, 'Silence for maintenance');
    expect(await dialog(page).getByLabel('Why').inputValue()).toBe('repairs');
    expect(await dialog(page).getByLabel('plant').isChecked()).toBe(true);
    await checkScreen(page, 'silence-form');
    await dialog(page).getByRole('button', { name: 'Silence until' }).click();
    await item(page).getByText('silenced').waitFor();
    await badge(page).waitFor({ state: 'detached' });
    await expect.poll(() => page.title()).toMatch(/^Problems · /);

    await page.getByRole('link', { name: 'Silences' }).click();
    await page.getByRole('row', { name: 'repairs plant' }).getByText('root@example.com').waitFor();
    await checkScreen(page, 'project-silences');
    await openActions(page, 'repairs');
    await page.getByRole('button', { name: 'End the silence: repairs' }).click();
    await dialog(page).getByRole('button', { name: 'End', exact: true }).click();
    await page.getByText('Nothing is silent').waitFor();
    await badge(page).waitFor();

    await page.getByRole('link', { name: 'Problems 1 critical' }).click();
    await item(page).waitFor();
    await page.getByRole('button', { name: 'Any time' }).click();
    await page.getByRole('button', { name: 'Last hour' }).click();
    await mosquitto.start();
    const closed = page.getByRole('region', { name: /^Closed problems/ });
    await closed
      .getByRole('listitem')
      .filter({ hasText: UNREACHABLE })
      .getByText(/lasted \d+/)
      .waitFor(SLOW);
    await badge(page).waitFor({ state: 'detached' });
    await checkScreen(page, 'problems-closed');
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByRole('button', { name: 'Any time' }).click();
    await page.getByLabel('To', { exact: true }).fill('2020-01-01 00:00');
    await page.keyboard.press('Enter');
    await page.getByText('No closed problem matches the filter.').waitFor();
  });

  test('have thresholds in the settings of the project, where an empty field sets the default again', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await openScreen(page, service, '');
    const days = page.getByLabel(/^Days before a token expires/);
    const stored = async () => (await service.storage.db.project.findFirstOrThrow()).problemThresholds;
    await days.fill('21');
    await page.getByRole('button', { name: 'Set thresholds' }).click();
    await page.getByText('The thresholds are set.').waitFor();
    expect(await stored()).toBe('{"tokenDays":21}');
    await checkScreen(page, 'thresholds');
    await days.fill('');
    await days.press('Enter');
    await expect.poll(stored).toBeNull();
    await expect.poll(() => days.inputValue()).toBe('7');
    // What was typed for a project is not saved to another one.
    await days.fill('21');
    const { data } = await service.graphql('mutation { createProject(input: { name: "other" }) { project { id } } }');
    await openScreen(page, { ...service, projectId: data.createProject.project.id }, '');
    await page.getByRole('heading', { level: 1, name: 'other' }).waitFor();
    await expect.poll(() => days.inputValue()).toBe('7');
  });
});
