import { describe, expect, test } from 'vitest';
import { type Found, type Kind, ranked } from '../../console/search/found.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { PASSWORD, ROOT, startTestService } from '../support/service.ts';
import { addBroker, checkScreen, firstBroker, makeStrict, openFleet, signOut } from './page.ts';

test('the whole name is found before its beginning, its words and its parts, and equal names by their kind', () => {
  const found = (kind: Kind, name: string, of: string | null = null): Found => ({ kind, name, of, address: `/${of}` });
  const results = [
    found('topic', 'plant/depress'),
    found('account', 'unnamed', 'Plant'),
    found('client', 'line/press'),
    found('role', 'press'),
    found('client', 'press-10', 'Graz'),
    found('client', 'press-1', 'Graz'),
    found('client', 'press', 'Linz'),
    found('client', 'press', 'Graz'),
    found('client', 'press', 'Graz'),
    found('screen', 'Clients', 'Press shop'),
    found('screen', 'Press'),
  ];
  expect(ranked(results, 'Press').map(({ kind, name, of }) => [kind, name, of].join(' '))).toEqual([
    'screen Press ',
    'client press Linz',
    'client press Graz',
    'role press ',
    'client press-1 Graz',
    'client press-10 Graz',
    'client line/press ',
    'screen Clients Press shop',
    'topic plant/depress ',
    'account unnamed Plant',
  ]);
});

describe.skipIf(!hasChromium)(hasChromium ? 'the search' : CHROMIUM_MISSING, () => {
  test('finds screens, projects, brokers, clients, access control and topics by keyboard, and goes to them', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const added = await service.graphql(
      'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { outcome } }',
      { input: { brokerId: broker.id, change: { username: 'press/7', password: PASSWORD } } },
    );
    expect(added.errors).toBeUndefined();
    const grouped = await service.graphql(
      `mutation ($b: ID!) {
        createAccessGroup(input: { brokerId: $b, change: { groupName: "press crew" } }) { outcome }
        createAccessRole(input: { brokerId: $b, change: { roleName: "press reader" } }) { outcome }
      }`,
      { b: broker.id },
    );
    expect(grouped.errors).toBeUndefined();
    const client = await startClient(broker.url, {
      clientId: 'press 7/a',
      username: 'admin',
      password: broker.password,
    });
    await client.publishAsync('plant/press 7/state', 'on', { qos: 1, retain: true });
    await expect
      .poll(async () => {
        const { data } = await service.graphql(
          'query ($id: ID!) { broker(id: $id) { topicTree { topics(search: "press") { nodes { topic } } } } }',
          { id: broker.id },
        );
        return data.broker.topicTree?.topics?.nodes?.length;
      })
      .toBe(1);
    const page = await openFleet(service);
    const result = (name: string) => page.getByRole('option', { name });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Screens, actions' }).waitFor();
    await page.keyboard.press('Escape');
    // Letters right after the key are part of the term.
    const find = async (term: string) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(term);
    };
    await find('press');
    await result('Topic plant/press 7/state').waitFor();
    await result('Account press/7').waitFor();
    await result('Group press crew').waitFor();
    await result('Role press reader').waitFor();
    await result('Client press 7/a').waitFor();
    await page.getByText('searched at 1 of 1 brokers').waitFor();
    await checkScreen(page, 'search');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const path = () => page.evaluate('location.search + location.hash') as Promise<string>;
    await expect.poll(path).toMatch(new RegExp(`#/brokers/${broker.id}/clients/press~207~2Fa$`));
    await page.getByRole('heading', { level: 2, name: 'press 7/a' }).waitFor();

    await find('press');
    await result('Account press/7').click();
    await expect.poll(path).toBe(`?name=press%2F7#/brokers/${broker.id}/access/accounts`);
    await page.getByRole('heading', { level: 2, name: 'press/7' }).waitFor();
    await find('press');
    await result('Topic plant/press 7/state').waitFor();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await expect.poll(path).toBe(`?topic=plant%2Fpress%207%2Fstate#/brokers/${broker.id}/topics`);
    await find('press');
    await result('Group press crew').click();
    await page.getByRole('heading', { level: 2, name: 'press crew' }).waitFor();
    await find('press');
    await result('Role press reader').click();
    await page.getByRole('heading', { level: 2, name: 'press reader' }).waitFor();
    await find('disconnect press');
    await result('Disconnect press 7/a').click();
    const question = page.getByRole('dialog', { name: 'Disconnect press 7/a' });
    await question.getByText('1 connected client').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(path).toMatch(new RegExp(`^#/brokers/${broker.id}/clients/press~207~2Fa$`));
    await find('why press plant/press');
    await result('Why press/7').waitFor();
    await result('Why press 7/a').click();
    await expect.poll(path).toContain('account=admin');
    await expect.poll(path).toContain('topic=plant%2Fpress');
    await find(`silence ${broker.name}`);
    await result(`Silence ${broker.name}`).click();
    const silence = page.getByRole('dialog', { name: 'Silence problems of First project' });
    await expect.poll(() => silence.getByLabel(broker.name).isChecked()).toBe(true);
    await page.keyboard.press('Escape');
    await silence.waitFor({ state: 'detached' });
    await find(broker.name);
    await page.keyboard.press('Enter');
    await expect.poll(path).toMatch(new RegExp(`#/brokers/${broker.id}$`));
    await find('First proj');
    await page.keyboard.press('Enter');
    await expect.poll(path).toMatch(new RegExp(`#/projects/${service.projectId}$`));
    await find('peop');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'People' }).waitFor();
    await find('nothing like this');
    await page.getByText('Nothing was found.').waitFor();
    // It may be a client id that was never seen.
    await result('Look up client id nothing like this').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await checkScreen(page, 'keys');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('Find by address or name').focus();
    await page.keyboard.press('?');
    await expect.poll(() => page.getByLabel('Find by address or name').inputValue()).toBe('?');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('finds streams, bridges, tokens, people, screens and actions by keyboard, and first the last results', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const broker = await firstBroker(service);
    const { projectId } = service;
    await service.person(null);
    const created = await service.graphql(
      `mutation ($stream: CreateStreamInput!, $bridge: UpdateBridgeConfigInput!, $token: CreateTokenInput!) {
        createStream(input: $stream) { stream { name } }
        updateBridgeConfig(input: $bridge) { bridge { id } }
        createToken(input: $token) { token { id } }
      }`,
      {
        stream: { brokerId: broker.id, name: 'to-celsius', sourceTopic: 'raw' },
        bridge: {
          brokerId: broker.id,
          bridgeKey: 'mqtt-bridge',
          config: {
            connections: [{ name: 'to-graz', url: 'mqtt://127.0.0.1:9', topics: [{ pattern: '#', direction: 'out' }] }],
          },
        },
        token: { projectId, name: 'to-deploy', role: 'VIEWER', type: 'UNRESTRICTED' },
      },
    );
    expect(created.errors).toBeUndefined();
    const page = await openFleet(service);
    const result = (name: string) => page.getByRole('option', { name });
    const first = page.getByRole('listbox', { name: 'Results' }).getByRole('option', { selected: true });
    const address = () => page.evaluate('location.search + location.hash') as Promise<string>;
    const dialog = (name: string) => page.getByRole('dialog', { name });
    const find = async (term: string) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(term);
    };
    const open = async (term: string, name: string) => {
      await find(term);
      await result(name).first().waitFor();
      await expect.poll(() => first.textContent()).toContain(name);
      await page.keyboard.press('Enter');
      await dialog('Search').waitFor({ state: 'detached' });
    };
    await open('celsius', 'Stream to-celsius');
    await expect.poll(address).toBe(`?stream=to-celsius#/brokers/${broker.id}/streams`);
    await open('to-graz', 'Bridge to-graz');
    await page.getByText('to-graz').waitFor();
    await open('to-deploy', 'Token to-deploy');
    await page.getByRole('rowheader', { name: 'to-deploy' }).waitFor();
    await open('sett', 'Screen Settings First project');
    await expect.poll(address).toBe(`#/projects/${projectId}`);
    await open('emb over', `Screen Overview ${broker.name}`);
    await expect.poll(address).toBe(`#/brokers/${broker.id}`);
    await open('add broker', 'Action Add broker First project');
    await dialog('Add a broker to First project').waitFor();
    await page.keyboard.press('Escape');
    await dialog('Add a broker to First project').waitFor({ state: 'detached' });
    expect(await address()).toBe('#/');
    await open('create stream', `Action Create stream ${broker.name}`);
    await page.getByRole('heading', { name: 'New stream' }).waitFor();
    await open('silence first', 'Silence First project');
    await dialog('Silence problems of First project').waitFor();
    await page.keyboard.press('Escape');
    await open('create token', 'Action Create token First project');
    await dialog('Create token').waitFor();
    await page.keyboard.press('Escape');
    await open('upload', 'Action Upload certificate First project');
    await dialog('Upload').waitFor();
    await page.keyboard.press('Escape');
    await open('invite vera@example.com', 'Action Invite a person vera@example.com');
    expect(await dialog('Invite a person').getByLabel('E-mail address').inputValue()).toBe('vera@example.com');
    await page.keyboard.press('Escape');
    await open('create project', 'Action Create project');
    await dialog('New project').waitFor();
    await page.keyboard.press('Escape');
    await open("why can't admin publish to plant", 'Why admin');
    await expect.poll(address).toBe(`?account=admin&action=PUBLISH&topic=plant#/brokers/${broker.id}/why`);
    await open('why admin plant/state', 'Why admin');
    await expect.poll(address).toBe(`?account=admin&topic=plant%2Fstate#/brokers/${broker.id}/why`);

    // What was opened last is first, without what verbs did.
    await find('');
    await expect.poll(() => first.textContent()).toContain('Action Create project');
    const names = await page.getByRole('option').allTextContents();
    expect(names.slice(1, 3)).toEqual(['Action Invite a person vera@example.com', expect.stringContaining('Upload')]);
    await page.keyboard.press('Escape');
    const stored = () => page.evaluate('Object.entries(localStorage).join()') as Promise<string>;
    expect(await stored()).toContain(ROOT.email);
    await signOut(page);
    await page.getByLabel('Password').waitFor();
    expect(await stored()).not.toContain(ROOT.email);
  });

  test('offers only the screens and actions that the viewer may use', async () => {
    const service = await startTestService({ embeddedBroker: true });
    await makeStrict(service);
    const page = await openFleet(service, (await service.person('VIEWER')).token);
    await page.getByRole('button', { name: 'Search' }).click();
    const term = page.getByRole('combobox', { name: 'Screens, actions' });
    await term.fill('first');
    await page.getByRole('option', { name: 'Screen Members First project' }).waitFor();
    const names = await page.getByRole('option').allTextContents();
    expect(names.filter((name) => /Action|Audit|Passwords|Notifications/.test(name))).toEqual([]);
  });

  test('opens the first result when it comes, if Enter was pressed before', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const page = await openFleet(service);
    const held: (() => Promise<void>)[] = [];
    await page.route(`${service.url}/graphql`, async (route) => {
      if (route.request().postData()?.includes('query SearchPlaces')) held.push(() => route.continue());
      else await route.continue();
    });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('First proj');
    await page.keyboard.press('Enter');
    await expect.poll(() => held.length).toBe(1);
    expect(await page.getByRole('option').count()).toBe(0);
    await held[0]?.();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('location.hash')).toBe(`#/projects/${service.projectId}`);
  });

  test('names the brokers that are not reachable, and does not count them as searched', async () => {
    const service = await startTestService({ embeddedBroker: true });
    // No server listens there.
    await addBroker(service, 'mqtt://127.0.0.1:9', { name: 'away' });
    const page = await openFleet(service);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox', { name: 'Screens, actions' }).fill('admin');
    await page.getByText('searched at 1 of 2 brokers').waitFor();
    await page.getByText('Not reachable, so not searched: away').waitFor();
    await page.getByRole('option', { name: 'Account admin' }).waitFor();
    await checkScreen(page, 'search-unreachable');
  });

  test('finds only what the viewer may see', async () => {
    const service = await startTestService({ embeddedBroker: true });
    const { name } = await firstBroker(service);
    const { token } = await service.person(null);
    const page = await openFleet(service, token);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox', { name: 'Screens, actions' }).fill(name);
    await page.getByText('Nothing was found.').waitFor();
    await page.getByRole('combobox', { name: 'Screens, actions' }).fill('people');
    await page.getByText('Nothing was found.').waitFor();
  });
});
