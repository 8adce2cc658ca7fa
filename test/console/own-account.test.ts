import { TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { PASSWORD, startTestService } from '../support/service.ts';
import { checkScreen, openConsole, openUserMenu, signIn, signOut } from './page.ts';

describe.skipIf(!hasChromium)(hasChromium ? 'the own account' : CHROMIUM_MISSING, () => {
  test('changes the password, and ends other sessions', async () => {
    const service = await startTestService();
    const { email, id } = await service.person('VIEWER');
    const page = await openConsole(service);
    await signIn(page, { email, password: PASSWORD });
    await openUserMenu(page);
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    await page.getByText('Only a root administrator can change it.').waitFor();
    await page.getByRole('button', { name: /^End the session from/ }).waitFor();
    await checkScreen(page, 'own-account');
    await page.getByRole('button', { name: /^End the session from/ }).click();
    await expect.poll(() => service.storage.db.session.count({ where: { userId: id } })).toBe(1);
    await service.login(email, PASSWORD);
    await page.reload();
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password, at').fill('a much better password');
    await page.getByLabel('New password again').fill('a much better passwort');
    await page.keyboard.press('Enter');
    await page.getByText('The two new passwords are different.').waitFor();
    await page.getByLabel('New password again').fill('a much better password');
    await page.keyboard.press('Enter');
    await page.getByText('The current password or the code is wrong').waitFor();
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('The password is changed.').waitFor();
    expect(await service.storage.db.session.count({ where: { userId: id } })).toBe(1);
    await expect.poll(() => page.getByRole('button', { name: /^End the session from/ }).count()).toBe(0);
    expect(await service.login(email, 'a much better password')).toMatch(/^bgs_/);
  });

  test('sets up a second factor by QR code, which the sign-in then requires, and removes it', async () => {
    const service = await startTestService();
    const { email } = await service.person('VIEWER');
    const page = await openConsole(service);
    await signIn(page, { email, password: PASSWORD });
    await openUserMenu(page);
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('button', { name: 'Set up a second factor' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Current password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await dialog.getByRole('img', { name: 'QR code' }).waitFor();
    await checkScreen(page, 'second-factor');
    const secret = (await dialog.locator('code').textContent()) ?? '';
    await dialog.getByLabel('Code of the app').fill(new TOTP({ secret }).generate());
    await page.keyboard.press('Enter');
    await dialog.getByRole('listitem').first().waitFor();
    const codes = await dialog.getByRole('listitem').allTextContents();
    expect(codes.length).toBe(10);
    await dialog.getByRole('button', { name: 'The codes are saved' }).click();
    await page.getByText('10 recovery codes are left').waitFor();

    await signOut(page);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code of the authenticator app').fill(codes[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('9 recovery codes are left').waitFor();
    await page.getByRole('button', { name: 'Remove the second factor' }).click();
    await dialog.getByLabel('Current password').fill(PASSWORD);
    await dialog.getByLabel('Code of the authenticator app').fill(codes[1] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('The second factor is off: a password alone opens your account.', { exact: true }).waitFor();
    expect(await service.login(email, PASSWORD)).toMatch(/^bgs_/);
  });

  test('of a root administrator changes its name', async () => {
    const service = await startTestService();
    const page = await openConsole(service);
    await signIn(page);
    await openUserMenu(page);
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Grace Hopper');
    await page.getByRole('button', { name: 'Save the name' }).click();
    await page.getByText('The name is changed.').waitFor();
    expect((await service.services.users.byEmail('root@example.com')).name).toBe('Grace Hopper');
  });
});
