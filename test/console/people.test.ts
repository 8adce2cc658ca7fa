import { TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, openActions, openConsole, openFleet, signIn } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the people' : CHROMIUM_MISSING, () => {
  test('are created, found and changed, and those who lose their session lose the page', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.getByLabel('E-mail address').fill('Ada@Example.com');
    await page.getByRole('dialog').getByLabel('Name').fill('Ada Lovelace');
    await page.getByLabel('First password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader', { name: 'ada@example.com' }).waitFor();
    await page.getByLabel('Find by address or name').fill('ada@');
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['ada@example.com']);
    await page.reload();
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toEqual(['ada@example.com']);
    await checkScreen(page, 'people');

    const other = await openConsole(service);
    await signIn(other, { email: 'ada@example.com', password: PASSWORD });
    expect(await other.getByRole('link', { name: 'People' }).count()).toBe(0);
    await other.evaluate("location.hash = '#/people'");
    await other.getByText('Only root administrators').waitFor();

    await page.getByRole('link', { name: 'ada@example.com' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
    await page.getByRole('rowheader', { name: '127.0.0.1' }).waitFor();
    await page.getByText('This person is no member of a project.').waitFor();
    await service.graphql(
      'mutation ($input: SetProjectMemberInput!) { setProjectMember(input: $input) { member { role } } }',
      { input: { projectId: service.projectId, email: 'ada@example.com', role: 'EDITOR' } },
    );
    const { name } = await service.storage.db.project.findFirstOrThrow();
    const membership = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
    await membership.getByText('editor').waitFor();
    await expect
      .poll(() => membership.getByRole('link', { name }).getAttribute('href'))
      .toMatch(`/projects/${service.projectId}/members`);
    await checkScreen(page, 'person');
    await openActions(page, '127.0.0.1');
    await page.getByRole('button', { name: 'End the session from 127.0.0.1' }).click();
    await page.getByRole('button', { name: 'End the session', exact: true }).click();
    await other.getByText('Your session has ended').waitFor();
    await page.getByText('This person is not signed in.').waitFor();

    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Name').fill('Ada King');
    await dialog.getByLabel('Address is verified').check();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Ada King' }).waitFor();
    await openActions(page, 'ada@example.com');
    await page.getByRole('button', { name: 'Make root administrator' }).click();
    await page.getByRole('dialog').getByText('may then do everything').waitFor();
    await checkScreen(page, 'person-role');
    await page.getByRole('dialog').getByRole('button', { name: 'Make root administrator' }).click();
    await openActions(page, 'ada@example.com');
    await page.getByRole('button', { name: 'Revoke root administration' }).waitFor();
    await page.keyboard.press('Escape');
    const ada = await service.services.users.byEmail('ada@example.com');
    const { data } = await service.graphql('query ($id: ID!) { user(id: $id) { name isRootAdmin isVerified } }', {
      id: ada.id,
    });
    expect(data.user).toEqual({ name: 'Ada King', isRootAdmin: true, isVerified: true });

    await openActions(page, 'ada@example.com');
    await page.getByRole('button', { name: 'Set a new password' }).click();
    await page.getByRole('textbox', { name: 'New password' }).fill('another good password');
    await page.keyboard.press('Enter');
    await page.getByText('ada@example.com has a new password.').waitFor();
    expect(await service.login('ada@example.com', 'another good password')).toMatch(/^bgs_/);
    await openActions(page, 'ada@example.com');
    await page.getByRole('button', { name: 'End all sessions' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click();
    await page.getByText('This person is not signed in.').waitFor();
    expect(await service.storage.db.session.count({ where: { userId: ada.id } })).toBe(0);

    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Signs in by').selectOption('directory (LDAP)');
    await dialog.getByText('The password of ada@example.com is deleted').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    await openActions(page, 'ada@example.com');
    await page.getByRole('button', { name: 'Delete the account' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Set a new password' }).count()).toBe(0);
    const { ssoType, passwordHash } = await service.storage.db.user.findUniqueOrThrow({ where: { id: ada.id } });
    expect([ssoType, passwordHash]).toEqual(['ldap', null]);
  });

  test('belong to organizations, which own projects; the processes and secrets have a screen, too', async () => {
    const service = await startTestService();
    await service.person('VIEWER');
    const email = 'person-1@example.com';
    const page = await openFleet(service);
    const dialog = page.getByRole('dialog');
    await page.getByRole('link', { name: 'Organizations' }).click();
    await page.getByText('You are a member of no organization.').waitFor();
    await page.getByLabel('Name').fill('Works');
    await page.keyboard.press('Enter');
    const works = page.getByRole('region', { name: 'Works', exact: true });
    await works.getByLabel('E-mail address').fill(email);
    await works.getByLabel('Role').selectOption('owner');
    await works.getByRole('button', { name: 'Add or change member' }).click();
    await works.getByRole('rowheader', { name: email }).waitFor();
    await checkScreen(page, 'organizations');
    await openActions(works, email);
    await works.getByRole('button', { name: `Remove ${email}` }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await works.getByRole('rowheader', { name: email }).waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('button', { name: 'New project' }).click();
    await dialog.getByLabel('Name').fill('Press shop');
    await dialog.getByLabel('Owner').selectOption('Works');
    await dialog.getByRole('button', { name: 'Create the project' }).click();
    await page.getByRole('heading', { name: 'Press shop' }).waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByText('Works').waitFor();

    await page.getByRole('link', { name: 'Organizations' }).click();
    await works.getByRole('button', { name: 'Delete Works' }).click();
    await dialog.getByRole('button', { name: 'Delete Works' }).click();
    await dialog.getByRole('alert').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('link', { name: 'Service' }).click();
    const own = page.getByRole('row').filter({ hasText: 'serves this page' });
    await own.getByText('running').waitFor();
    await page.getByRole('button', { name: 'Rotate secrets' }).click();
    await dialog.getByRole('button', { name: 'Rotate secrets' }).click();
    await page.getByText('Encrypted again').waitFor();
    await checkScreen(page, 'service');
  });

  test('are invited from the members of a project by a link, with a second factor that they have to set up', async () => {
    const service = await startTestService();
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/projects/${service.projectId}/members`);
    await page.getByRole('button', { name: 'Invite a person' }).press('Enter');
    const form = page.getByRole('dialog', { name: 'Invite a person' });
    await form.getByLabel('E-mail address').fill('grace@example.com');
    await form.getByText('viewers may also change access control').waitFor();
    await form.getByLabel('Role').selectOption('editor');
    expect(await form.getByText('viewers may also change access control').count()).toBe(0);
    await form.getByLabel('Require a second factor').check();
    await checkScreen(page, 'invite');
    await page.keyboard.press('Enter');
    const invitation = page.getByRole('dialog', { name: 'Invitation of grace@example.com' });
    const link = (await invitation.locator('pre').textContent()) ?? '';
    expect(link).toMatch(/#\/invitation\/bgi_\w{49}$/);
    await invitation.getByRole('button', { name: 'Done' }).press('Enter');
    await page.getByRole('rowheader', { name: 'grace@example.com' }).waitFor();
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('row', { name: /grace@example.com.*Invited until.*required, not set up yet/ }).waitFor();

    const other = await openConsole(service);
    await other.goto(link);
    await other.reload();
    await other.getByRole('heading', { name: 'You are invited' }).waitFor();
    await checkScreen(other, 'invitation');
    await other.getByLabel('Password').fill(PASSWORD);
    await other.keyboard.press('Enter');
    await other.getByText('Your account requires a code in addition to the password.').waitFor();
    expect(other.url()).not.toContain('bgi_');
    await checkScreen(other, 'second-factor-required');
    await other.getByRole('button', { name: 'Set up a second factor' }).click();
    await other.getByLabel('Current password').fill(PASSWORD);
    await other.keyboard.press('Enter');
    const secret = (await other.locator('code.secret').textContent()) ?? '';
    await other.getByLabel('Code of the app').fill(new TOTP({ secret }).generate());
    await other.keyboard.press('Enter');
    await other.getByRole('list', { name: 'Recovery codes' }).waitFor();
    await other.getByRole('dialog').getByRole('button').last().click();
    await other.getByRole('heading', { name: 'Fleet' }).waitFor();
    await other.goto(`${service.url}/#/projects/${service.projectId}/members`);
    await other.getByRole('rowheader', { name: 'grace@example.com' }).waitFor();
    expect(await other.getByRole('button', { name: 'Invite a person' }).count()).toBe(0);

    const third = await openConsole(service);
    await third.goto(link);
    await third.reload();
    await third.getByLabel('Password').fill('another password');
    await third.keyboard.press('Enter');
    await third.getByRole('alert').filter({ hasText: 'unknown, expired or was used' }).waitFor();
  });

  test('are deleted with a new owner of their projects, except for the last root administrator', async () => {
    const service = await startTestService();
    const { id, email, token } = await service.person(null);
    const created = await service.graphql(
      'mutation { createProject(input: { name: "hers" }) { project { id } } }',
      {},
      token,
    );
    const page = await openFleet(service);
    await page.evaluate(`location.hash = '#/people/${id}'`);
    await openActions(page, email);
    await page.getByRole('button', { name: 'Delete the account' }).click();
    const dialog = page.getByRole('dialog');
    if (created.errors === undefined) await dialog.getByLabel('New owner').selectOption('root@example.com');
    await dialog.getByRole('button', { name: 'Delete the account' }).click();
    await page.getByText(`The account ${email} is deleted.`).waitFor();
    expect(await service.storage.db.user.count({ where: { id } })).toBe(0);
    await page.getByRole('link', { name: 'root@example.com' }).last().click();
    await page.getByText('cannot be removed or demoted').waitFor();
    await openActions(page, 'root@example.com');
    await page.getByRole('button', { name: 'Unlock sign-in' }).waitFor();
    expect(await page.getByRole('button', { name: 'Delete the account' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Revoke root administration' }).count()).toBe(0);
  });
});
