import { readFileSync } from 'node:fs';
import type { MqttClient } from 'mqtt';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type AccessWorld, accessWorld, addBroker, KINDS } from '../domains/access-control/access-service.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient, startMosquitto } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { addBroker as addNamed, checkScreen, makeStrict, openActions, openFleet } from './page.ts';

/** Two meters hold a role, through a group or directly; a pump holds nothing. */
async function furnish({ ask }: AccessWorld): Promise<void> {
  const acls = [{ acltype: 'publishClientSend', topic: 'plant/+/data', priority: 0, allow: true }];
  await ask('createRole', { rolename: 'sensor', textname: 'Sensors', acls });
  await ask('createRole', { rolename: 'watcher' });
  await ask('createGroup', { groupname: 'meters', roles: [{ rolename: 'sensor' }] });
  await ask('createClient', { username: 'meter-1', password: 'one', groups: [{ groupname: 'meters' }] });
  await ask('createClient', { username: 'meter-2', password: 'two', roles: [{ rolename: 'sensor', priority: 5 }] });
  await ask('createClient', { username: 'pump', password: 'three', textname: 'The pump' });
}

async function openAccess(service: TestService, brokerId: string, part = 'accounts'): Promise<Page> {
  const page = await openFleet(service);
  await page.goto(`${service.url}/#/brokers/${brokerId}/access/${part}`);
  await page.getByRole('navigation', { name: 'Parts of the access control' }).waitFor();
  return page;
}

const LIST = 'query ($b: ID!) { broker(id: $b) { connectedClients { isComplete } } }';

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

const dialog = (page: Page, name: string) => page.getByRole('dialog', { name });

/** The client ids that a confirmation lists. */
const disconnected = (page: Page) =>
  page.getByRole('region', { name: 'Disconnected clients' }).getByRole('listitem').allTextContents();

const closed = (clients: readonly MqttClient[]) =>
  Promise.all(clients.map((client) => new Promise<void>((resolve) => client.once('close', () => resolve()))));

describe.skipIf(!hasChromium)(hasChromium ? 'the access control' : CHROMIUM_MISSING, () => {
  test.each(KINDS)('%s: a change disconnects exactly the clients that the confirmation lists', async (kind) => {
    const world = await accessWorld(kind);
    await furnish(world);
    const meters = [
      { clientId: 'm1', username: 'meter-1', password: 'one' },
      { clientId: 'm2', username: 'meter-2', password: 'two' },
    ];
    const connect = () => Promise.all(meters.map((meter) => world.client(meter)));
    let clients = await connect();
    const pump = await world.client({ clientId: 'p1', username: 'pump', password: 'three' });
    const page = await openAccess(world.service, world.brokerId, 'roles');
    await row(page, 'sensor').getByRole('link', { name: 'sensor' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Kind of access of rule 2').selectOption('subscribe to filters within');
    await page.getByLabel('Topic of rule 2').fill('plant/#');
    await page.getByLabel('Decision of rule 2').selectOption('deny');
    await page.getByLabel('Priority of rule 2').fill('7');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('subscribePattern').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'new: deny: subscribe to filters within plant/#' }).waitFor();
    // Mosquitto 2.0 disconnects no client when the rules of a role change.
    const expected = kind === 'Mosquitto 2.0' ? [] : ['m1 meter-1', 'm2 meter-2'];
    expect(await disconnected(page)).toEqual(expected);
    // Nothing is sent before it is confirmed.
    expect((await world.ask('getRole', { rolename: 'sensor' })).role.acls).toHaveLength(1);
    expect(clients.map(({ connected }) => connected)).toEqual([true, true]);
    let gone = closed(clients);
    await page.getByRole('button', { name: 'Save the role' }).click();
    const saved = expected.length === 0 ? 'Saved.' : `Saved. Disconnected clients: ${expected.length}`;
    await page.getByText(saved).waitFor();
    expect((await world.ask('getRole', { rolename: 'sensor' })).role.acls).toContainEqual({
      acltype: 'subscribePattern',
      topic: 'plant/#',
      priority: 7,
      allow: false,
    });
    await row(page, 'plant/#').getByText('deny').waitFor();
    if (expected.length > 0) {
      await gone;
      clients = await connect();
    } else {
      for (const client of clients) await client.publishAsync('plant/1/data', 'on', { qos: 1 });
    }

    await page.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => disconnected(page)).toEqual(['m1 meter-1', 'm2 meter-2']);
    gone = closed(clients);
    await page.getByRole('button', { name: 'Delete the role sensor' }).click();
    await gone;
    await row(page, 'watcher').waitFor();
    expect((await world.ask('listRoles')).roles).not.toContain('sensor');
    await pump.publishAsync('plant/1/data', 'on', { qos: 1 });
    expect(pump.connected).toBe(true);
  });

  test('the form of a role and the confirmation of its changes are readable in all looks', async () => {
    const world = await accessWorld(KINDS[0] ?? 'Mosquitto 2.0');
    await furnish(world);
    await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    const page = await openAccess(world.service, world.brokerId, 'roles');
    await row(page, 'sensor').getByRole('link', { name: 'sensor' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Priority of rule 1').fill('7');
    // The number has a visible label besides its name for screen readers.
    await page.locator('.access-rules label').getByText('Priority').waitFor();
    await checkScreen(page, 'access-role-form');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await expect.poll(() => disconnected(page)).toEqual(['m1 meter-1']);
    await page.getByRole('listitem').filter({ hasText: 'changed: allow: publish plant/+/data' }).waitFor();
    await checkScreen(page, 'access-change');
  });

  test('an account is created, changed and deleted by keyboard, and the list follows changes of others', async () => {
    const world = await accessWorld('Mosquitto 2.0');
    await furnish(world);
    // Mosquitto reports its number of connections only after `sys_interval`; until then clients may be missing.
    await expect.poll(() => world.graph(LIST)).toMatchObject({ broker: { connectedClients: { isComplete: true } } });
    const page = await openAccess(world.service, world.brokerId);
    await page.getByRole('button', { name: 'New account' }).press('Enter');
    const form = dialog(page, 'New account');
    await form.getByLabel('User name').fill('lamp/<b>');
    await page.keyboard.press('Tab');
    await page.keyboard.type('a long secret');
    await form.getByLabel('Group to add').fill('meters');
    await page.keyboard.press('Enter');
    await form.getByLabel('Priority of meters').fill('3');
    await form.getByLabel('Role to add').fill('watcher');
    // What was typed survives Escape, except for the password.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New account' }).press('Enter');
    await form.getByText('The form has what you typed before.').waitFor();
    expect(await form.getByLabel('User name').inputValue()).toBe('lamp/<b>');
    expect(await form.getByLabel('Password').inputValue()).toBe('');
    await form.getByLabel('Password').fill('a long secret');
    // The role was not added yet; the form does it.
    expect(await form.getByLabel('Role to add').inputValue()).toBe('watcher');
    await form.getByLabel('Display name').press('Enter');
    await page.getByText('No client is disconnected.').waitFor();
    expect(await page.getByText('a long secret').count()).toBe(0);
    // The confirmation takes the place of the form, which has its values if one goes back.
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    await page.getByRole('button', { name: 'Back to the form' }).press('Enter');
    await expect.poll(() => form.getByLabel('User name').inputValue()).toBe('lamp/<b>');
    await expect.poll(() => form.getByLabel('Priority of meters').inputValue()).toBe('3');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    await form.getByLabel('Display name').press('Enter');
    await page.getByText('No client is disconnected.').waitFor();
    await page.getByRole('button', { name: 'Create the account' }).press('Enter');
    await row(page, 'lamp/<b>').getByRole('link', { name: 'watcher' }).waitFor();
    const { client: stored } = await world.ask('getClient', { username: 'lamp/<b>' });
    expect(stored).toMatchObject({
      groups: [{ groupname: 'meters', priority: 3 }],
      roles: [{ rolename: 'watcher' }],
    });

    // Another program changes the same broker.
    await world.ask('createClient', { username: 'late' });
    await row(page, 'late').waitFor();
    await world.ask('deleteClient', { username: 'late' });
    await row(page, 'late').waitFor({ state: 'detached' });

    let lamp = await world.client({ clientId: 'l1', username: 'lamp/<b>', password: 'a long secret' });
    await row(page, 'lamp/<b>').getByRole('link', { name: 'lamp/<b>', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'lamp/<b>' }).waitFor();
    await row(page, 'l1').waitFor();
    const rule = row(page, 'plant/+/data');
    await rule.getByRole('link', { name: 'sensor' }).waitFor();
    await rule.getByRole('link', { name: 'meters' }).waitFor();
    await page.getByRole('button', { name: 'Change' }).press('Enter');
    await page.getByLabel('Password').fill('another secret');
    await page.keyboard.press('Enter');
    await expect.poll(() => disconnected(page)).toEqual(['l1 lamp/<b>']);
    let gone = closed([lamp]);
    await page.getByRole('button', { name: 'Save the account' }).press('Enter');
    await gone;
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    lamp = await world.client({ clientId: 'l2', username: 'lamp/<b>', password: 'another secret' });
    await row(page, 'l2').waitFor();

    await page.getByRole('button', { name: 'Disable' }).press('Enter');
    await expect.poll(() => disconnected(page)).toEqual(['l2 lamp/<b>']);
    gone = closed([lamp]);
    await page.getByRole('button', { name: 'Disable the account' }).press('Enter');
    await gone;
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    await page.getByText('No client is connected with this account.').waitFor();

    await page.getByRole('button', { name: 'Delete' }).press('Enter');
    // Mosquitto counts its clients every few seconds. The list may be incomplete until the count after a disconnect.
    await page.getByText(/No client is disconnected\.|may not list all of its clients\./).waitFor();
    await page.getByRole('button', { name: 'Delete the account' }).press('Enter');
    await row(page, 'meter-1').waitFor();
    expect((await world.ask('listClients')).clients).not.toContain('lamp/<b>');
  });

  test('filters and the page are in the address, which a reload and the next screen respect', async () => {
    const world = await accessWorld(KINDS[0] ?? 'Mosquitto 2.0');
    await furnish(world);
    const changes = Array.from({ length: 60 }, (_, n) => ({
      createAccount: { username: `dev-${n}`, roles: [{ roleName: 'watcher' }] },
    }));
    await world.graph(
      'mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome } }',
      { input: { brokerId: world.brokerId, changes } },
    );
    const page = await openAccess(world.service, world.brokerId);
    const names = () => page.getByRole('rowheader').allTextContents();
    // Who changed it last.
    await row(page, 'dev-1').getByText('root@example.com').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2 of 2').waitFor();
    await expect.poll(names).toContain('pump');
    await page.reload();
    await expect.poll(names).toContain('pump');
    await page.getByLabel('Search accounts').fill('METER');
    await expect.poll(names).toEqual(['meter-1', 'meter-2']);
    await page.getByLabel('Members of the group').fill('meters');
    await expect.poll(names).toEqual(['meter-1']);
    await page.reload();
    await expect.poll(names).toEqual(['meter-1']);
    await page.getByRole('link', { name: /^Groups/ }).click();
    await expect.poll(names).toEqual([expect.stringContaining('meters')]);
    await page.goBack();
    await expect.poll(names).toEqual(['meter-1']);
    await page.getByLabel('Members of the group').fill('');
    await expect.poll(names).toEqual(['meter-1', 'meter-2']);
    await checkScreen(page, 'access');
    await page.goto(`${world.service.url}/?name=meter-2#/brokers/${world.brokerId}/access/accounts`);
    await page.getByRole('heading', { name: 'meter-2' }).waitFor();
    await checkScreen(page, 'access-account');
  });

  test('chosen accounts move to another broker with their passwords, and are then deleted here', async () => {
    const world = await accessWorld('the embedded broker');
    await furnish(world);
    const create =
      'mutation ($p: ID!) { createCloudBroker(input: { projectId: $p, name: "second" }) { broker { id } } }';
    const second = (await world.graph(create, { p: world.service.projectId })).createCloudBroker.broker.id;
    const state = async () =>
      (await world.graph('query ($s: ID!) { broker(id: $s) { isConnected url } }', { s: second })).broker;
    await expect.poll(async () => (await state()).isConnected).toBe(true);
    const page = await openAccess(world.service, world.brokerId);
    const move = page.getByRole('button', { name: 'Move to another broker' });
    await page.getByLabel('Choose meter-1').check();
    await page.locator('[aria-label="All of this page"]:indeterminate').waitFor();
    await page.getByLabel('Choose meter-2').check();
    expect(await page.getByRole('status').filter({ hasText: '2 chosen' }).isVisible()).toBe(true);
    expect(await page.getByLabel('Choose admin').count()).toBe(0);
    await move.click();
    const question = dialog(page, 'Move accounts to another broker: 2');
    await question.getByLabel('Broker that gets the accounts').selectOption(second);
    await question.getByText('Accounts that keep their password: 2').waitFor();
    await checkScreen(page, 'access-move');
    await question.getByRole('button', { name: 'Copy the accounts' }).click();
    await dialog(page, 'The accounts are on second').getByRole('button', { name: 'Delete the accounts here' }).click();
    await dialog(page, 'Delete accounts of this broker: 2')
      .getByRole('button', { name: 'Delete the accounts here' })
      .click();
    await row(page, 'meter-1').waitFor({ state: 'detached' });
    await row(page, 'pump').waitFor();
    expect((await world.ask('listClients')).clients).toEqual(['admin', 'pump']);
    await page.getByRole('link', { name: 'Passwords' }).click();
    await row(page, 'pump').getByRole('cell', { name: 'unknown' }).waitFor();
    await page.getByLabel('Age of the password').selectOption('365');
    await row(page, 'pump').waitFor();
    await checkScreen(page, 'access-passwords');
    await startClient((await state()).url, { clientId: 'm1', username: 'meter-1', password: 'one' });
  });

  test('the passwords of all brokers of a project are one list, by their age', async () => {
    const world = await accessWorld('the embedded broker');
    await furnish(world);
    const { service } = world;
    await addBroker(service, (await startMosquitto({ access: 'dynsec' })).url);
    await addNamed(service, 'mqtt://127.0.0.1:1', { name: 'away' });
    const change = 'setAccountPassword(input: { brokerId: $b, change: { username: "pump", password: "new" } })';
    await world.graph(`mutation ($b: ID!) { ${change} { outcome } }`);
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/projects/${service.projectId}/passwords`);
    await row(page, 'pump')
      .getByRole('cell', { name: / ago \(/ })
      .waitFor();
    await row(page, 'meter-1').filter({ hasText: 'Embedded broker' }).getByRole('cell', { name: 'unknown' }).waitFor();
    await row(page, 'admin')
      .filter({ has: page.getByRole('link', { name: 'm', exact: true }) })
      .waitFor();
    // A broker whose accounts are not known is named.
    await page
      .getByRole('listitem')
      .filter({ hasText: /^away: / })
      .waitFor();
    expect(await page.getByRole('rowheader').last().textContent()).toBe('pump');
    await checkScreen(page, 'project-passwords');
    await page.getByLabel('Age of the password').selectOption('90');
    await row(page, 'pump').waitFor({ state: 'detached' });
    await row(page, 'meter-1').getByRole('link', { name: 'meter-1' }).click();
    await page.getByRole('heading', { name: 'meter-1' }).waitFor();
    const { token } = await service.person('EDITOR');
    const editor = await openFleet(service, token);
    await editor.goto(`${service.url}/#/projects/${service.projectId}`);
    await editor.getByRole('link', { name: 'Members' }).waitFor();
    expect(await editor.getByRole('link', { name: 'Passwords' }).count()).toBe(0);
  });

  test('members of a group, the default access and the anonymous group are changed after a dry run', async () => {
    const world = await accessWorld('Mosquitto 2.0');
    await furnish(world);
    const pump = await world.client({ clientId: 'p1', username: 'pump', password: 'three' });
    const page = await openAccess(world.service, world.brokerId, 'groups');
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByLabel('Name of the group').fill('guests');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Create the group' }).click();
    await row(page, 'guests').waitFor();

    await page.getByRole('rowheader', { name: 'meters' }).getByRole('link').click();
    await page.getByLabel('Account', { exact: true }).fill('pump');
    await page.getByRole('button', { name: 'Add the account' }).click();
    await expect.poll(() => disconnected(page)).toEqual(['p1 pump']);
    const gone = closed([pump]);
    await page.getByRole('button', { name: 'Add pump to meters' }).click();
    await gone;
    await row(page, 'pump').waitFor();
    await openActions(page, 'pump');
    await page.getByRole('button', { name: 'Remove pump' }).click();
    await page.getByRole('button', { name: 'Remove pump from meters' }).click();
    await row(page, 'pump').waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'Defaults' }).click();
    await page.getByLabel('Unsubscribe').selectOption('denied');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save the default access' }).click();
    await page.getByRole('button', { name: 'Save the default access' }).waitFor({ state: 'detached' });
    const { acls } = await world.ask('getDefaultACLAccess');
    expect(acls).toContainEqual({ acltype: 'unsubscribe', allow: false });
    await page.getByLabel('Anonymous group').fill('guests');
    await page.getByRole('button', { name: 'Show what the new group changes' }).click();
    await page.getByRole('button', { name: 'Set the anonymous group' }).click();
    await page.getByRole('link', { name: 'guests' }).waitFor();
    expect(await world.ask('getAnonymousGroup')).toMatchObject({ group: { groupname: 'guests' } });
    await checkScreen(page, 'access-defaults');
  });

  test('the clients of a group and of an account are counted, listed, and disconnected after a dry run', async () => {
    const world = await accessWorld('the embedded broker');
    await furnish(world);
    await world.ask('addGroupClient', { groupname: 'meters', username: 'meter-2' });
    const connect = (clientId: string, username: string, password: string) =>
      world.client({ clientId, username, password });
    const members = [await connect('m1', 'meter-1', 'one'), await connect('m2', 'meter-2', 'two')];
    const pump = await connect('p1', 'pump', 'three');
    const page = await openAccess(world.service, world.brokerId, 'groups');
    await row(page, 'meters').getByRole('link', { name: 'meters' }).click();
    await page.getByText('2 connected').waitFor();
    await page.getByRole('link', { name: 'Clients of this group' }).click();
    const listed = () => page.getByRole('rowheader').allTextContents();
    await expect.poll(listed).toEqual(['m1', 'm2']);
    await expect.poll(() => page.getByLabel('Group of the account').inputValue()).toBe('meters');
    await page.getByLabel('Group of the account').selectOption('any');
    await expect.poll(listed).toContain('p1');
    await page.goBack();
    await expect.poll(listed).toEqual(['m1', 'm2']);
    await page.goBack();
    const gone = closed(members);
    await page.getByRole('button', { name: 'Disconnect the members' }).click();
    const question = dialog(page, 'Disconnect the clients of meters');
    await question.getByText('2 connected clients would lose their connection.').waitFor();
    await expect.poll(() => question.getByRole('listitem').allTextContents()).toEqual(['m1', 'm2']);
    await checkScreen(page, 'access-group-clients');
    await question.getByRole('button', { name: 'Disconnect 2 clients' }).click();
    await gone;
    await question.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('0 connected').waitFor();
    expect(await page.getByRole('button', { name: 'Disconnect the members' }).count()).toBe(0);
    expect(pump.connected).toBe(true);

    await page.goto(`${world.service.url}/?name=pump#/brokers/${world.brokerId}/access/accounts`);
    await page.getByText('1 connected').waitFor();
    const ended = closed([pump]);
    await page.getByRole('button', { name: 'Disconnect the clients' }).click();
    await page.getByRole('button', { name: 'Disconnect 1 client', exact: true }).click();
    await ended;
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('link', { name: 'Clients of this account' }).click();
    await page.getByText('No client matches the filter.').waitFor();
  });

  test('a document of one broker is planned with all differences, and applied to another broker', async () => {
    const world = await accessWorld('Mosquitto 2.0');
    await furnish(world);
    const other = await startMosquitto({ access: 'dynsec' });
    const otherId = await addBroker(world.service, other.url);
    const page = await openAccess(world.service, world.brokerId, 'documents');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the document' }).click(),
    ]);
    const file = await download.path();
    expect(JSON.parse(readFileSync(file, 'utf8')).format).toBe('brokergraph/access-control');

    await page.goto(`${world.service.url}/#/brokers/${otherId}/access/documents`);
    await page.getByRole('link', { name: 'Accounts (1)' }).waitFor();
    await page.getByRole('textbox', { name: 'Document' }).fill('no json');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByText('The document is not a JSON object.').waitFor();
    await page.getByLabel('File', { exact: true }).setInputFiles(file);
    await expect.poll(() => page.getByRole('textbox', { name: 'Document' }).inputValue()).toContain('meter-1');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    const plan = dialog(page, 'Plan');
    await plan.getByText('createRole').first().waitFor();
    await plan.getByLabel('Password of pump').fill('three');
    await checkScreen(page, 'access-plan');
    await plan.getByRole('button', { name: 'Apply the plan' }).click();
    await page.getByText(/^Saved/).waitFor();
    await startClient(other.url, { username: 'pump', password: 'three' });
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await plan.getByText('Nothing is to be changed.').waitFor();
    await expect.poll(() => plan.getByRole('button', { name: 'Apply the plan' }).isDisabled()).toBe(true);
  });

  test('a person who may not change it sees everything, and no button that would be refused', async () => {
    const world = await accessWorld(KINDS[0] ?? 'Mosquitto 2.0');
    await furnish(world);
    await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    const { service, brokerId } = world;
    await makeStrict(service);
    const { token } = await service.person('VIEWER');
    const page = await openFleet(service, token);
    const open = (part: string) => page.goto(`${service.url}/${part}`);
    await open(`#/brokers/${brokerId}/access/accounts`);
    await row(page, 'pump').waitFor();
    const buttons = () => page.getByRole('main').getByRole('button').allTextContents();
    const reading = expect.arrayContaining(['Save as CSV', 'GraphQL', 'curl']);
    expect(await buttons()).toEqual(reading);
    expect(await page.getByRole('button', { name: 'New account' }).count()).toBe(0);
    await open(`?name=meter-1#/brokers/${brokerId}/access/accounts`);
    await page.getByRole('heading', { name: 'meter-1' }).waitFor();
    await open(`?name=meters#/brokers/${brokerId}/access/groups`);
    await row(page, 'meter-1').waitFor();
    await page.getByText('1 connected').waitFor();
    expect(await page.getByRole('button', { name: /Change|Delete|Add|Remove|Disconnect/ }).count()).toBe(0);
    await open(`?name=sensor#/brokers/${brokerId}/access/roles`);
    await row(page, 'plant/+/data').waitFor();
    expect(await page.getByRole('button', { name: /Change|Delete/ }).count()).toBe(0);
    await open(`#/brokers/${brokerId}/access/defaults`);
    await page.getByLabel('Publish').waitFor();
    await expect.poll(() => page.getByLabel('Publish').isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: /Show/ }).count()).toBe(0);
  });

  test('a broker without dynamic security gets the reason, and what would help', async () => {
    const service = await startTestService();
    const broker = await startMosquitto();
    const added = await service.graphql(
      'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name: 'plain', url: `mqtt://127.0.0.1:${broker.port}` } },
    );
    const page = await openFleet(service);
    await page.goto(`${service.url}/#/brokers/${added.data.addBroker.broker.id}/access`);
    await page.getByRole('heading', { name: 'This broker has no access control' }).waitFor();
    await page.getByText('The broker has no dynamic security').waitFor();
    await page.getByText('mosquitto_ctrl dynsec init').waitFor();
    await checkScreen(page, 'access-unavailable');
  });
});
