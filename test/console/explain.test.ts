import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type AccessWorld, accessWorld, KINDS } from '../domains/access-control/access-service.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';

import { isLong } from '../support/suite.ts';
import { checkScreen, openFleet } from './page.ts';

/** A meter may publish its data through its group, and is denied what is secret. */
async function furnish({ ask }: AccessWorld): Promise<void> {
  const rule = (topic: string, allow: boolean, priority = 0) => ({
    acltype: 'publishClientSend',
    topic,
    allow,
    priority,
  });
  await ask('createRole', { rolename: 'sensor', acls: [rule('plant/secret/#', false, 9), rule('plant/#', true)] });
  await ask('createRole', { rolename: 'writer', acls: [rule('plant/secret/door', true)] });
  await ask('createGroup', { groupname: 'meters', roles: [{ rolename: 'sensor' }] });
  await ask('createClient', { username: 'meter-1', password: 'one', groups: [{ groupname: 'meters' }] });
  await ask('createClient', { username: 'writer-1', password: 'two', roles: [{ rolename: 'writer' }] });
}

async function open({ service, brokerId }: AccessWorld, path: string, query = ''): Promise<Page> {
  const page = await openFleet(service);
  await page.goto(`${service.url}/?${query}#/brokers/${brokerId}/${path}`);
  return page;
}

const verdict = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text });

describe.skipIf(!hasChromium)(hasChromium ? 'why' : CHROMIUM_MISSING, () => {
  test.each(KINDS)(
    '%s: the deciding rule of a denied publish is shown, what other roles would change, and each change of the broker',
    async (kind) => {
      const world = await accessWorld(kind);
      await furnish(world);
      const topic = 'plant/secret/door';
      const isReported = kind === 'the embedded broker';
      // Mosquitto reports no denied publishes.
      const query = new URLSearchParams({ account: 'meter-1', clientId: 'm1', action: 'PUBLISH', topic });
      const page = await (isReported ? open(world, 'refusals') : open(world, 'why', query.toString()));
      const meter = (clientId: string) =>
        world.client({ clientId, username: 'meter-1', password: 'one', protocolVersion: 5 });
      // With MQTT 5 a broker reports a denied publish to its client as well.
      await expect((await meter('m1')).publishAsync(topic, 'open', { qos: 1 })).rejects.toThrow();
      if (isReported) {
        const refusal = page.getByRole('row').filter({ hasText: topic });
        await refusal.getByText('sensor: plant/secret/#').waitFor();
        await refusal.getByRole('link', { name: 'Check access' }).click();
      }
      await verdict(page, 'Denied: meter-1, publish, plant/secret/door').waitFor();
      await page
        .getByText('Role sensor: deny to publish to plant/secret/# (priority 9) through the group meters')
        .waitFor();
      expect(page.url()).toContain(`?${query}#`);

      // Nothing is changed by an assumption.
      await page.getByText('What if the account held other roles?').click();
      await page.getByLabel('Further role').fill('writer');
      await page.getByLabel('Priority').fill('8');
      await page.getByRole('button', { name: 'Assume the role' }).press('Enter');
      await verdict(page, 'Would be allowed: meter-1').waitFor();
      await page.reload();
      await verdict(page, 'Would be allowed: meter-1').waitFor();
      await page.getByLabel('sensor').press(' ');
      await page.getByRole('button', { name: 'Do not assume writer' }).press('Enter');
      await verdict(page, 'Would be denied: meter-1').waitFor();
      await page.getByText('No rule matches, so the default access for “publish to” decides.').waitFor();
      await page.getByLabel('sensor').press(' ');
      await verdict(page, 'Denied: meter-1').waitFor();
      await checkScreen(page, 'why');

      // Another program changes the role, and the broker decides as the screen says.
      await world.ask('removeRoleACL', { rolename: 'sensor', acltype: 'publishClientSend', topic: 'plant/secret/#' });
      await verdict(page, 'Allowed: meter-1, publish, plant/secret/door').waitFor();
      await (await meter('m2')).publishAsync(topic, 'open', { qos: 1 });
    },
  );

  test('a client id alone is enough while the client is connected, and inputs are suggested', async () => {
    const world = await accessWorld('Mosquitto 2.0');
    await furnish(world);
    await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    const page = await open(world, 'why');
    await page.getByLabel('Client id').fill('m1');
    await page.getByLabel('Action').selectOption('publish');
    await page.getByLabel('Topic').fill('plant/1/data');
    await page.keyboard.press('Enter');
    await page.getByText('The client m1 is connected with the account meter-1.').waitFor();
    await verdict(page, 'Allowed: meter-1, publish, plant/1/data').waitFor();
    await page.getByLabel('Client id').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No client nobody is connected').waitFor();
    const options = page.locator('datalist option');
    await page.getByLabel('Account', { exact: true }).fill('met');
    await expect
      .poll(() => options.evaluateAll((all) => all.map((option) => option.getAttribute('value'))))
      .toContain('meter-1');
    await page.getByLabel('without a user name').check();
    await page.getByRole('button', { name: 'Check access' }).click();
    await verdict(page, 'Denied: without a user name').waitFor();
    await page.goBack();
    await page.getByText('No client nobody is connected').waitFor();
  });

  test.each(isLong ? KINDS : KINDS.slice(0, 1))(
    '%s: who can lists all accounts with their rules, also for a viewer, and follows changes',
    async (kind) => {
      const world = await accessWorld(kind);
      await furnish(world);
      const { service, brokerId, graph } = world;
      const { token } = await service.person('VIEWER');
      const page = await openFleet(service, token);
      await page.goto(`${service.url}/#/brokers/${brokerId}/why/who-can`);
      await page.getByLabel('Topic').fill('plant/secret/door');
      await page.getByRole('button', { name: 'Who can' }).click();
      const row = (name: string) =>
        page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
      await row('writer-1').getByText('Role writer: allow to publish to plant/secret/door (priority 0)').waitFor();
      expect(await row('meter-1').count()).toBe(0);
      const { whoCan } = await graph(
        'query ($b: ID!) { whoCan(brokerId: $b, action: PUBLISH, topic: "plant/secret/door") { totalCount nodes { username } } }',
      );
      await page.getByText(`Allowed to publish plant/secret/door: ${whoCan.totalCount}`).waitFor();
      await checkScreen(page, 'who-can');
      await world.ask('addClientRole', { username: 'meter-1', rolename: 'writer' });
      await row('meter-1').waitFor();
      // The link is one for other tabs and other people as well.
      const href = await row('meter-1').getByRole('link', { name: 'Check access of meter-1' }).getAttribute('href');
      const tab = await page.context().newPage();
      await tab.goto(new URL(href ?? '', page.url()).href);
      await verdict(tab, 'Allowed: meter-1, publish, plant/secret/door').waitFor();
    },
  );

  test('who could on a day: the list of today holds, or each change since then is named with its entry', async () => {
    const world = await accessWorld('the embedded broker');
    await furnish(world);
    const { service, brokerId: id, graph } = world;
    // The service has known the broker for years.
    const [db, at] = [service.storage.db, new Date('2020-01-01T00:00:00Z')];
    await db.broker.update({ where: { id }, data: { createdAt: at } });
    await graph('mutation ($b: ID!) { updateBroker(input: { brokerId: $b, description: "x" }) { broker { id } } }');
    const { sequence } = await db.auditEntry.findFirstOrThrow({ orderBy: { sequence: 'asc' } });
    await db.auditEntry.update({ where: { sequence }, data: { at } });
    const query = new URLSearchParams({ topic: 'plant/secret/door' });
    const page = await open(world, 'why/who-can', query.toString());
    await page.getByRole('rowheader', { name: 'writer-1' }).waitFor();
    await page.getByLabel('On the day (optional)').fill('2026-01-15');
    await page.getByRole('button', { name: 'Who can' }).click();
    await page.getByText(/The list also holds for Thursday, .*15.* 2026/).waitFor();
    await page.getByText('No earlier change is recorded.').waitFor();
    await checkScreen(page, 'who-could');

    const give = 'addAccountRole(input: { brokerId: $b, change: { username: "meter-1", roleName: "writer" } })';
    await graph(`mutation ($b: ID!) { ${give} { outcome } }`);
    await page.getByText('may have been different for:').waitFor();
    await page.getByText('the accounts meter-1', { exact: true }).waitFor();
    const change = page.getByRole('row').filter({ hasText: 'Give a role to an account: meter-1' });
    await change.getByText('root@example.com').waitFor();
    await checkScreen(page, 'who-could-changed');
    // On paper it is complete: the question is in the heading, the form is not.
    await page.emulateMedia({ media: 'print' });
    await page.getByText('may have been different for:').waitFor();
    expect(await page.getByLabel('On the day (optional)').isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    await change.getByRole('link').first().click();
    await page.getByText('1 in total').waitFor();

    // What was before the broker was added is not known.
    await page.goto(`${service.url}/?${query}&day=2019-12-31#/brokers/${id}/why/who-can`);
    await page.getByText(/Whether the list holds for Tuesday, .*31.* 2019 is not known/).waitFor();
  });
});
