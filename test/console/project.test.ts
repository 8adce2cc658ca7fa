import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, openActions, openConsole, openFleet, signIn } from './page.ts';

async function openProject(page: Page, tab?: string): Promise<void> {
  await page.getByRole('heading', { level: 2 }).getByRole('link').click();
  await page.getByText('Your role').waitFor();
  if (tab !== undefined) await page.getByRole('link', { name: tab, exact: true }).click();
}

const dialog = (page: Page) => page.getByRole('dialog');
const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

describe.skipIf(!hasChromium)(hasChromium ? 'the screens of a project' : CHROMIUM_MISSING, () => {
  test('change its settings after saying what follows, and delete it after its name was entered', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const page = await openFleet(service);
    await openProject(page);
    await page.getByLabel('Name').fill('Plant 1');
    await page.getByLabel(/^Strict roles/).focus();
    await page.keyboard.press('Space');
    await page.getByText('Viewers, and tokens with this role, can no longer change').waitFor();
    await page.getByLabel('Description').fill('The plant in the north');
    await page
      .getByRole('region', { name: 'History of brokers' })
      .getByText(/ of at most 2\.1.GB HISTORY_MAX_MB/)
      .waitFor();
    await checkScreen(page, 'project-settings');
    await page.getByLabel('Name').press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Plant 1' }).waitFor();
    const { data } = await service.graphql(
      '{ projects { nodes { name description settings { hasStrictRoles storesTopicPayloads } } } }',
    );
    expect(data.projects.nodes).toEqual([
      {
        name: 'Plant 1',
        description: 'The plant in the north',
        settings: { hasStrictRoles: true, storesTopicPayloads: expect.any(Boolean) },
      },
    ]);

    const danger = page.getByRole('region', { name: 'Danger zone' });
    await danger.getByRole('button', { name: 'Delete project' }).click();
    await dialog(page).getByText('of them run by this service').waitFor();
    const confirm = dialog(page).getByRole('button', { name: 'Delete project' });
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    await page.getByLabel('Enter Plant 1 to delete it').fill('Plant 1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await service.storage.db.project.count()).toBe(0);
  });

  test('add members, change their role and remove them, after saying what they lose', async () => {
    const service = await startTestService();
    const ada = await service.person(null);
    const bob = await service.person('ADMIN');
    const page = await openFleet(service);
    await openProject(page, 'Members');
    // The form says what viewers may do here, and where that is changed.
    await page.getByText('In this project viewers may also change access control').waitFor();
    await page.getByLabel(/^E-mail address/).fill('unknown@example.com');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel(/^E-mail address/).fill(ada.email);
    await page.getByRole('combobox', { name: /^Role/ }).first().selectOption('EDITOR');
    await page.getByRole('button', { name: 'Add member' }).click();
    await rowOf(page, ada.email).waitFor();
    const roleOf = async (id: string) =>
      (await service.storage.db.projectMember.findFirst({ where: { userId: id } }))?.role ?? null;
    expect(await roleOf(ada.id)).toBe('EDITOR');
    expect(await page.getByText('In this project viewers may').count()).toBe(0);
    await checkScreen(page, 'project-members');

    await page.getByLabel(`Role of ${ada.email}`).selectOption('VIEWER');
    await dialog(page).getByText('has the role editor and gets the role viewer').waitFor();
    await dialog(page).getByText('In this project viewers may also change access control').waitFor();
    await page.getByRole('button', { name: 'Change role' }).press('Enter');
    await expect.poll(() => roleOf(ada.id)).toBe('VIEWER');

    const token = { projectId: service.projectId, name: 'dashboard', role: 'VIEWER' };
    await service.graphql(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret } }',
      { input: token },
      bob.token,
    );
    await page.reload();
    await openActions(page, bob.email);
    await page.getByRole('button', { name: `Remove ${bob.email}` }).click();
    await dialog(page).getByText('Tokens that they created remain valid: 1').waitFor();
    await page.getByRole('button', { name: 'Remove member' }).click();
    await expect.poll(() => rowOf(page, bob.email).count()).toBe(0);
    expect(await roleOf(bob.id)).toBeNull();
  });

  test('create a token whose secret is shown once, show its last use, rotate and revoke it', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const page = await openConsole(service);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await signIn(page);
    await openProject(page, 'Tokens');
    await page.getByText('A token gives a program access').waitFor();
    await page.getByRole('button', { name: 'Create token' }).press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.type('dashboard');
    await page.getByLabel('Only for some brokers').check();
    await dialog(page).getByLabel('Embedded broker').check();
    await dialog(page).getByRole('button', { name: 'Create token' }).click();
    await page.getByText('The service stores only a hash').waitFor();
    const secret = (await dialog(page).locator('pre').textContent()) ?? '';
    expect(secret).toMatch(/^bgp_/);
    await dialog(page).getByRole('button', { name: 'Copy' }).click();
    await dialog(page).getByRole('button', { name: 'Copied', exact: true }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.toContain(secret);
    await rowOf(page, 'dashboard').getByText('Embedded broker').waitFor();
    await rowOf(page, 'dashboard').getByText('never').waitFor();
    await checkScreen(page, 'project-tokens');

    const brokers = '{ projects { nodes { brokers { totalCount } } } }';
    expect((await service.graphql(brokers, {}, secret)).errors).toBeUndefined();
    await expect.poll(() => rowOf(page, 'dashboard').getByText('never').count()).toBe(0);
    await openActions(page, 'dashboard');
    await page.getByRole('button', { name: 'New secret for dashboard' }).click();
    await page.getByLabel('The previous secret remains valid for').selectOption('0');
    await dialog(page).getByText('lose their access immediately').waitFor();
    await dialog(page).getByRole('button', { name: 'New secret' }).click();
    await page.getByText('The service stores only a hash').waitFor();
    const next = (await dialog(page).locator('pre').textContent()) ?? '';
    await page.keyboard.press('Escape');
    expect((await service.graphql(brokers, {}, secret)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
    expect((await service.graphql(brokers, {}, next)).errors).toBeUndefined();

    await openActions(page, 'dashboard');
    await page.getByRole('button', { name: 'Revoke dashboard' }).click();
    await dialog(page).getByText('The token was last used at').waitFor();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('The project has no tokens').waitFor();
    expect((await service.graphql(brokers, {}, next)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  });

  test('create, change and remove sign-in rules', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await openProject(page, 'Sign-in rules');
    await page.getByText('The service has no provider').waitFor();
    await page.getByRole('button', { name: 'Create rule' }).press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.type('plant-(ops');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('alert').waitFor();
    await page.keyboard.type(')');
    await page.keyboard.press('Enter');
    await rowOf(page, 'plant-(ops)').getByText('OpenID Connect').waitFor();
    await checkScreen(page, 'project-rules');
    await openActions(page, 'plant-(ops)');
    await page.getByRole('button', { name: 'Change the rule plant-(ops)' }).click();
    await dialog(page).getByRole('combobox').selectOption('ADMIN');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await rowOf(page, 'plant-(ops)').getByText('administrator').waitFor();
    expect(await service.storage.db.signInRule.findMany({ select: { pattern: true, role: true } })).toEqual([
      { pattern: 'plant-(ops)', role: 'ADMIN' },
    ]);
    await openActions(page, 'plant-(ops)');
    await page.getByRole('button', { name: 'Remove the rule plant-(ops)' }).click();
    await dialog(page).getByText('lose the role administrator').waitFor();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The project has no sign-in rules.').waitFor();
    expect(await service.storage.db.signInRule.count()).toBe(0);
  });

  test('say nothing about viewers who may change access control after strict roles were turned on from there', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await openProject(page, 'Members');
    await page.getByRole('link', { name: 'Turn on strict roles in the settings' }).click();
    await page.getByLabel(/^Strict roles/).press(' ');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('can no longer change').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByText('Sees the project and its brokers.').waitFor();
    expect(await page.getByText('In this project viewers may').count()).toBe(0);
  });

  test('show a VIEWER everything that they may see, and no button that would be refused', async () => {
    const service = await startTestService();
    const { email, token } = await service.person('VIEWER');
    const input = { projectId: service.projectId, name: 'dashboard', role: 'VIEWER' };
    await service.graphql('mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret } }', { input });
    const page = await openFleet(service, token);
    await openProject(page);
    await page.getByText('Your role: viewer').waitFor();
    await page.getByLabel(/^Strict roles/).waitFor();
    await expect.poll(() => page.getByLabel(/^Strict roles/).isDisabled()).toBe(true);
    const buttons = () => page.getByRole('main').getByRole('button').allTextContents();
    expect(await buttons()).toEqual([]);
    const reading = ['Save as CSV', 'GraphQL', 'curl'];
    await page.getByRole('link', { name: 'Members' }).click();
    await rowOf(page, email).waitFor();
    expect(await buttons()).toEqual(reading);
    await page.getByRole('link', { name: 'Tokens' }).click();
    await rowOf(page, 'dashboard').waitFor();
    expect((await buttons()).map((name) => name.trim())).toEqual(['Columns and rows', ...reading]);
    await page.getByRole('link', { name: 'Sign-in rules' }).click();
    await page.getByText('The project has no sign-in rules.').waitFor();
    expect(await buttons()).toEqual(['GraphQL', 'curl']);
  });
});
