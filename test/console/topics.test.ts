import { describe, expect, test } from 'vitest';
import { retain, retained } from '../domains/messages/retained-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, openActions, openBroker, openFleet } from './page.ts';

/** The screen of the embedded broker, and a client of it. */
async function openTopics(role: 'root' | 'VIEWER' = 'root') {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  const client = await startClient(broker.url, { clientId: 'dev-1', username: 'admin', password: broker.password });
  const page = await openFleet(service, role === 'root' ? service.root : (await service.person(role)).token);
  await openBroker(page, broker.name, 'Topics');
  // The recording has started when the screen is empty.
  await page.getByText('No message was published lately').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  const item = (topic: string) => page.locator(`[role=treeitem][data-topic="${topic}"]`);
  return { service, brokerId: broker.id, client, page, item };
}

describe.skipIf(!hasChromium)(hasChromium ? 'the topics' : CHROMIUM_MISSING, () => {
  test('are a tree that follows the broker, is read level by level, and works by keyboard', async () => {
    const { service, brokerId, client, page, item } = await openTopics();
    await page.getByLabel('Topics are no longer listed').selectOption('7 days');
    const TTL = 'query ($id: ID!) { broker(id: $id) { topicTree { settings { ttl } } } }';
    await expect
      .poll(async () => (await service.graphql(TTL, { id: brokerId })).data.broker.topicTree.settings.ttl)
      .toBe(604_800);
    await client.publishAsync('plant/line1/temperature', '21.5', { qos: 1 });
    await item('plant').waitFor();
    await client.publishAsync('plant/line2/state', '{"state":"running"}', { qos: 1 });
    await client.publishAsync('__proto__', 'odd', { qos: 1 });
    expect(await item('plant/line1').count()).toBe(0);

    await item('__proto__').waitFor();
    await page.keyboard.press('Tab');
    await item('__proto__').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await item('plant/line1').waitFor();
    await expect.poll(() => item('plant').getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('End');
    await expect.poll(() => item('plant/line2').evaluate('document.activeElement.dataset.name')).toBe('line2');
    await page.keyboard.press('ArrowRight');
    await item('plant/line2/state').waitFor();
    await page.keyboard.press('s');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'plant/line2/state' }).waitFor();
    await page.getByLabel('Format').selectOption('JSON');
    const payload = page.getByRole('region', { name: 'Last payload' });
    await expect.poll(() => payload.textContent()).toBe('{\n  "state": "running"\n}');
    await client.publishAsync('plant/line2/state', '{"state":"stopped"}', { qos: 1 });
    await expect.poll(() => payload.textContent()).toContain('stopped');

    // The client that published it is named, and leads to its page.
    const publisher = page.getByRole('definition').getByRole('link', { name: 'dev-1' });
    await expect.poll(() => publisher.getAttribute('href')).toMatch(/#\/brokers\/brk_\w+\/clients\/dev-1$/);
    // The account of the client may publish, and the explanation of it is one click away.
    await page.getByText('admin', { exact: false }).first().waitFor();
    const link = page.getByRole('link', { name: 'Check who may publish' });
    await expect
      .poll(() => link.getAttribute('href'))
      .toMatch(/\?action=PUBLISH&topic=plant%2Fline2%2Fstate#\/brokers\/brk_\w+\/why$/);
    await page.reload();
    await page.getByRole('heading', { name: 'plant/line2/state' }).waitFor();
    await item('plant/line2/state').waitFor();
    await page.keyboard.press('Home');
    await item('plant').click();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => item('plant/line1').count()).toBe(0);
  });

  test('are found by text and by filter, with the subscriptions that match, and the address has the search', async () => {
    const { client, page } = await openTopics();
    await client.subscribeAsync('plant/+/temperature');
    for (const line of ['line1', 'line2', 'line3']) {
      await client.publishAsync(`plant/${line}/temperature`, '21.5', { qos: 1 });
      await client.publishAsync(`plant/${line}/state`, 'running', { qos: 1 });
    }
    const found = () => page.getByRole('rowheader').allTextContents();
    await page.getByRole('searchbox', { name: 'Search topics' }).fill('LINE2');
    await expect.poll(found).toEqual(['plant/line2/state', 'plant/line2/temperature']);
    await page.getByRole('searchbox', { name: 'Search topics' }).fill('plant/+/temperature');
    await expect.poll(found).toEqual(['line1', 'line2', 'line3'].map((line) => `plant/${line}/temperature`));
    await page.reload();
    await expect.poll(found).toHaveLength(3);
    await page.getByRole('button', { name: 'plant/line3/temperature' }).click();
    // The client that gets its messages, linked.
    const subscriber = page.getByRole('listitem').filter({ hasText: 'plant/+/temperature' });
    await subscriber.getByText('QoS 0').waitFor();
    expect(await subscriber.getByRole('link').getAttribute('href')).toMatch(/#\/brokers\/brk_\w+\/clients\/dev-1$/);
    await checkScreen(page, 'topics-search');
    await page.getByLabel('Kind of topics').selectOption('Filters of subscriptions');
    await page.getByRole('searchbox', { name: 'Search topics' }).fill('');
    await page.getByRole('treeitem', { name: 'plant' }).waitFor();
  });

  test('are listed in pages that lead back, and a page whose rows are deleted gives way to the previous one', async () => {
    const { client, page } = await openTopics();
    const topics = Array.from({ length: 51 }, (_, n) => `plant/d${String(n).padStart(2, '0')}`);
    await retain(client, topics, 'on');
    const rows = () => page.getByRole('rowheader').allTextContents();
    const turn = (name: string) => page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('searchbox', { name: 'Search topics' }).fill('plant/d');
    await expect.poll(rows).toEqual(topics.slice(0, 50));
    await turn('Next');
    await expect.poll(rows).toEqual(['plant/d50']);
    await turn('Previous');
    await expect.poll(rows).toEqual(topics.slice(0, 50));

    await page.getByRole('searchbox', { name: 'Search topics' }).fill('');
    await page.getByRole('button', { name: 'Read retained messages of #' }).click();
    await expect.poll(rows).toEqual(topics.slice(0, 50));
    await turn('Next');
    await expect.poll(rows).toEqual(['plant/d50']);
    await turn('Previous');
    await expect.poll(rows).toEqual(topics.slice(0, 50));
    await turn('Next');
    await openActions(page, 'plant/d50');
    await turn('Delete the retained message of plant/d50');
    await turn('Delete 1 message');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await expect.poll(rows).toEqual(topics.slice(0, 50));
  });

  test('delete the retained message of a topic, and those of a branch after a dry run with examples', async () => {
    const { service, brokerId, client, page, item } = await openTopics();
    const topics = Array.from({ length: 30 }, (_, n) => `plant/line${n % 3}/device${n}`);
    await retain(client, topics, '{"value": 21.5, "unit": "a text that is longer than forty characters"}');
    await client.publishAsync('office/door', 'open', { retain: true, qos: 1 });
    await item('plant').click();
    await page.getByRole('button', { name: 'Read retained messages of plant/#' }).click();
    await page.getByText('Retained messages that match plant/#: 30').waitFor();
    await item('plant/line0').waitFor();
    await checkScreen(page, 'topics');

    await openActions(page, 'plant/line0/device0');
    await page.getByRole('button', { name: 'Delete the retained message of plant/line0/device0', exact: true }).click();
    await page.getByRole('button', { name: 'Delete 1 message' }).click();
    await page.getByText('1 deleted').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('Retained messages that match plant/#: 29').waitFor();

    // The same by keyboard, for the branch.
    await page.getByRole('button', { name: 'Delete all of the branch' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Retained messages that the broker deletes: 29').waitFor();
    await expect.poll(() => page.getByRole('dialog').getByRole('listitem').count()).toBe(10);
    expect((await retained({ service, brokerId })).totalCount).toBe(30);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Delete all of the branch' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete 29 messages' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('29 deleted').waitFor();
    expect((await retained({ service, brokerId })).nodes).toMatchObject([{ topic: 'office/door' }]);
  });

  test('name the retained messages whose topics are no longer in the tree', async () => {
    const { service, brokerId, client, page, item } = await openTopics();
    await client.publishAsync('office/old', 'kept', { retain: true, qos: 1 });
    await item('office').waitFor();
    const ttl = await service.graphql(
      'mutation ($b: ID!) { setTopicTtl(input: { brokerId: $b, ttl: 1 }) { broker { id } } }',
      { b: brokerId },
    );
    expect(ttl.errors).toBeUndefined();
    await item('office').waitFor({ state: 'detached' });
    await page.getByText('no longer listed, even if a message of them is retained').waitFor();
    await page.getByRole('button', { name: 'Read retained messages of #' }).click();
    await page.getByText('Retained messages that match #: 1').waitFor();
    const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'office/old' }) });
    await row.getByRole('cell', { name: 'no', exact: true }).waitFor();
    await checkScreen(page, 'topics-retained');
    // A topic that is used is in the tree.
    const settings = 'mutation ($b: ID!) { setTopicTtl(input: { brokerId: $b, ttl: 3600 }) { broker { id } } }';
    expect((await service.graphql(settings, { b: brokerId })).errors).toBeUndefined();
    await client.publishAsync('office/old', 'again', { retain: true, qos: 1 });
    await item('office').waitFor();
    await page.getByRole('button', { name: 'Read again' }).click();
    await row.getByRole('cell', { name: 'yes', exact: true }).waitFor();
  });

  test('show a VIEWER which topics there are, and neither payloads nor retained messages', async () => {
    const { client, page, item } = await openTopics('VIEWER');
    await client.publishAsync('plant', 'secret', { qos: 1, retain: true });
    await item('plant').click();
    await page.getByText('require the role EDITOR').waitFor();
    await page.getByText('Messages', { exact: true }).first().waitFor();
    expect(await page.getByRole('main').textContent()).not.toContain('secret');
    expect(await page.getByRole('button', { name: /retained/ }).count()).toBe(0);
  });
});
