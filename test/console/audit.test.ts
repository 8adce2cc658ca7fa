import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { accessWorld } from '../domains/access-control/access-service.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { ROOT, startTestService, type TestService } from '../support/service.ts';
import { checkScreen, firstBroker, openFleet } from './page.ts';

const UPDATE = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
const rename = async ({ graphql, projectId }: TestService, name: string, token?: string) =>
  await graphql(UPDATE, { input: { projectId, name } }, token);

/** Not the days. */
const entriesOf = (page: Page) => page.locator('tbody th[scope=row]');
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

describe.skipIf(!hasChromium)(hasChromium ? 'the audit' : CHROMIUM_MISSING, () => {
  test('shows new entries within a second with their changes, filters them in the address, verifies and exports them', async () => {
    const service = await startTestService();
    const viewer = await service.person('VIEWER');
    const page = await openFleet(service);
    await page.getByRole('link', { name: 'Audit' }).press('Enter');
    await page.getByText('live', { exact: true }).waitFor();
    await rename(service, 'Plant 1');
    await rename(service, 'Plant 2');
    const changes = rowOf(page, 'Change a project: ');
    const row = changes.filter({ has: page.locator('ins').getByText('Plant 2') });
    await row.locator('summary').press('Enter');
    await row.locator('del').getByText('Plant 1').waitFor();
    await expect.poll(() => row.locator('ins').allTextContents()).toContain('Plant 2');
    await rename(service, 'Plant 3', viewer.token);
    const refusal = 'denied: the caller has no right to this';
    await rowOf(page, refusal).waitFor();
    await expect.poll(() => rowOf(page, viewer.email).count()).toBe(1);

    await page.getByLabel('Result').selectOption('REFUSED');
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Caller (exact)').fill(viewer.email);
    await expect.poll(() => entriesOf(page).count()).toBe(1);
    await page.reload();
    await rowOf(page, refusal).waitFor();
    await expect.poll(() => entriesOf(page).count()).toBe(1);
    // New entries that do not match the filter stay away.
    await rename(service, 'Plant 4');
    await rename(service, 'Plant 5', viewer.token);
    await expect.poll(() => entriesOf(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await rowOf(page, ROOT.email).first().waitFor();
    await checkScreen(page, 'audit');

    await page.getByRole('button', { name: 'Verify' }).press('Enter');
    await page.getByRole('button', { name: 'Verify all entries' }).press('Enter');
    await page.getByText('entries are intact').waitFor();
    const head = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
    const { data } = await service.graphql('query ($h: String) { verifyAudit(expect: $h) { isIntact } }', { h: head });
    expect(data.verifyAudit.isIntact).toBe(true);
    await page.keyboard.press('Escape');

    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export as JSON lines' }).click();
    const lines = readFileSync(await (await downloading).path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line).operation)).toContain('updateProject');
  });

  test('says what was done to which object in words, with links, and shows the previous values line by line', async () => {
    const world = await accessWorld('the embedded broker');
    const { service, graph } = world;
    const { name } = await service.storage.db.broker.findFirstOrThrow();
    const change = (mutation: string, values: string, rest = '') =>
      graph(`mutation ($b: ID!) { ${mutation}(input: { brokerId: $b, change: { ${values} }${rest} }) { outcome } }`);
    const rule = (allow: boolean) =>
      `roleName: "sensor", acl: { aclType: PUBLISH_CLIENT_SEND, topic: "plant/#", allow: ${allow} }`;
    await change('createAccessRole', 'roleName: "sensor"');
    await change('putAclRule', rule(true));
    await change('putAclRule', rule(false));
    await change('createAccount', 'username: "meter 7", textName: "Old"');
    await change('updateAccount', 'username: "meter 7", textName: "Next"', ', dryRun: true');
    await change('updateAccount', 'username: "meter 7", textName: "New"');
    await change('addAccountRole', 'username: "meter 7", roleName: "sensor"');
    await world.client({ clientId: 'pump/7', username: 'admin', password: (await firstBroker(service)).password });
    await graph('mutation ($b: ID!) { disconnectClient(input: { brokerId: $b, clientId: "pump/7" }) { __typename } }');

    const page = await openFleet(service);
    await page.getByRole('link', { name: 'Audit' }).click();
    const given = rowOf(page, 'Give a role to an account: meter 7 · sensor');
    await given.getByRole('link', { name, exact: true }).waitFor();
    await given.getByRole('link', { name: ROOT.email }).waitFor();
    const table = page.getByRole('region', { name: 'Audit' });
    // Nothing is cut off at the side.
    expect(await table.evaluate((region) => region.scrollWidth - region.clientWidth)).toBe(0);

    const changed = rowOf(page, 'Change an account: meter 7');
    await expect.poll(() => changed.count()).toBe(1);
    await page.getByLabel('Previews').selectOption('with');
    await expect.poll(() => changed.count()).toBe(2);
    // One heading for the day, over the entries.
    const today = new Intl.DateTimeFormat('en', { dateStyle: 'full' }).format(new Date());
    expect(await page.locator('tr.group').allTextContents()).toEqual([today]);
    const preview = changed.filter({ hasText: 'preview, nothing changed' });
    await preview.locator('summary').click();
    const done = changed.filter({ hasNotText: 'preview, nothing changed' });
    await done.locator('summary').click();
    await expect.poll(() => done.locator('summary').textContent()).toBe('Details: Display name');
    await expect.poll(() => done.locator('del').allTextContents()).toEqual(['Old']);
    await expect.poll(() => done.locator('ins').allTextContents()).toEqual(['New']);
    const rules = rowOf(page, 'Add or change a rule of an access role: sensor').first();
    await rules.locator('summary').click();
    await expect.poll(() => rules.locator('del').allTextContents()).toEqual([' "allow": true,']);
    await expect.poll(() => rules.locator('ins').allTextContents()).toEqual([' "allow": false,']);
    await checkScreen(page, 'audit-words');

    await rowOf(page, 'Disconnect a client: pump/7').getByRole('link', { name: 'pump/7' }).click();
    await page.getByRole('heading', { name: 'pump/7' }).waitFor();
    await page.goBack();
    await done.getByRole('link', { name: 'meter 7' }).click();
    await page.waitForURL(/access\/accounts/);
    await page.getByRole('heading', { name: 'meter 7' }).waitFor();
  });

  test('shows each of several changes with its previous values and its outcome', async () => {
    const { service, graph } = await accessWorld('the embedded broker');
    const change = (changes: readonly object[]) =>
      graph(
        'mutation ($b: ID!, $c: [AccessChangeInput!]!) { changeAccessControl(input: { brokerId: $b, changes: $c }) { outcome } }',
        { c: changes },
      );
    await change([{ createAccount: { username: 'meter 7', textName: 'Old' } }]);
    await change([
      { updateAccount: { username: 'meter 7', textName: 'New' } },
      { deleteAccount: { username: 'nobody' } },
      { setDefaultAcl: { unsubscribe: true } },
    ]);

    const page = await openFleet(service);
    await page.getByRole('link', { name: 'Audit' }).click();
    const row = rowOf(page, 'Details: Change an account, Delete an account, Change the default access');
    await row.locator('summary').press('Enter');
    await expect.poll(() => row.locator('del').allTextContents()).toEqual(['Old']);
    await expect.poll(() => row.locator('ins').allTextContents()).toEqual(['New']);
    expect(await row.locator('section > p').allTextContents()).toEqual([
      'Change an account: meter 7',
      'Delete an account: nobody (rejected)',
      'Change the default access (was so already)',
    ]);
    await checkScreen(page, 'audit-changes');
  });

  test('leads to older entries and back, and stores which columns are shown and how close the rows are', async () => {
    const service = await startTestService();
    for (let n = 1; n <= 201; n++)
      await service.services.audit.record({ operation: 'updateProject', after: { name: `p${n}` }, result: 'DONE' });
    const page = await openFleet(service);
    await page.goto(`${service.url}/?operation=updateProject#/audit`);
    await expect.poll(() => entriesOf(page).count()).toBe(100);
    await page.getByText('201 in total').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('p101').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => entriesOf(page).count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(() => entriesOf(page).count()).toBe(100);
    await page.getByRole('button', { name: 'First page' }).click();
    await page.getByText('live', { exact: true }).waitFor();

    const titles = page.getByRole('columnheader');
    const paddingOf = () =>
      page
        .locator('tbody th[scope=row]')
        .first()
        .evaluate((cell) => getComputedStyle(cell).paddingTop);
    expect(await titles.allTextContents()).toEqual(['Time', 'Who', 'What', 'Result']);
    const comfortable = await paddingOf();
    await page.getByRole('button', { name: 'Columns and rows' }).press('Enter');
    await page.getByRole('checkbox', { name: 'Who' }).press('Space');
    await page.getByRole('checkbox', { name: 'Compact rows' }).press('Space');
    await page.keyboard.press('Escape');
    await page.reload();
    await entriesOf(page).first().waitFor();
    expect(await titles.allTextContents()).toEqual(['Time', 'What', 'Result']);
    expect(Number.parseFloat(await paddingOf())).toBeLessThan(Number.parseFloat(comfortable));
  });

  test('says everything that is wrong with a filter in the address', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await page.goto(`${service.url}/?from=yesterday&to=tomorrow#/audit`);
    const problem = page.getByRole('alert').filter({ hasText: 'filter.from: ' });
    await problem.filter({ hasText: 'filter.to: ' }).waitFor();
    await checkScreen(page, 'audit-errors');
  });

  test('of a project is a tab for its administrators; others see neither the tab nor the menu entry', async () => {
    const service = await startTestService();
    const admin = await service.person('ADMIN');
    const page = await openFleet(service, admin.token);
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await page.getByRole('heading', { level: 2 }).getByRole('link').click();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    await rename(service, 'Plant 1', admin.token);
    await rowOf(page, 'Change a project').getByText(admin.email).waitFor();
    await page.getByLabel('Operation').selectOption('Create a token');
    await page.getByText('No entry matches the filter').waitFor();
    await page.getByLabel('Operation').selectOption('Change a project');
    await rowOf(page, 'Change a project').getByText(admin.email).waitFor();

    const viewer = await service.person('VIEWER');
    const other = await openFleet(service, viewer.token);
    await other.getByRole('heading', { level: 2 }).getByRole('link').click();
    await other.getByRole('link', { name: 'Members' }).waitFor();
    expect(await other.getByRole('link', { name: 'Audit' }).count()).toBe(0);
  });
});
