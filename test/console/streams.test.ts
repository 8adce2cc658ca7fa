import { describe, expect, test } from 'vitest';
import { heardOn, inputOf } from '../domains/streams/stream-world.ts';
import { CHROMIUM_MISSING, hasChromium } from '../support/chromium.ts';
import { startClient } from '../support/mosquitto.ts';
import { startTestService } from '../support/service.ts';
import { checkScreen, firstBroker, makeStrict, openActions, openBroker, openFleet } from './page.ts';

/** The screen of the embedded broker, and a client of it. */
async function openStreams(role: 'root' | 'VIEWER' = 'root') {
  const service = await startTestService({ embeddedBroker: true });
  const broker = await firstBroker(service);
  const credentials = { username: 'admin', password: broker.password };
  const client = await startClient(broker.url, { clientId: 'dev-1', ...credentials });
  if (role === 'VIEWER') await makeStrict(service);
  const page = await openFleet(service, role === 'root' ? service.root : (await service.person(role)).token);
  await openBroker(page, broker.name, 'Streams');
  await page.getByText('There is no stream yet').waitFor();
  const change = async (name: string, input: object) => {
    const { errors } = await service.graphql(
      `mutation ($input: ${inputOf(name)}) { ${name}(input: $input) { broker { id } } }`,
      { input: { brokerId: broker.id, ...input } },
    );
    expect(errors).toBeUndefined();
  };
  const streams = async () => {
    const document = 'query ($b: ID!) { broker(id: $b) { streams { nodes { name isActive query targetTopic } } } }';
    return (await service.graphql(document, { b: broker.id })).data.broker.streams.nodes;
  };
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  return { client, page, change, streams, row };
}

const FAST = {
  select: [{ source: '[speed]', target: '[speed]' }],
  where: [{ operator: '>', left: '[speed]', right: 10 }],
};

describe.skipIf(!hasChromium)(hasChromium ? 'the streams' : CHROMIUM_MISSING, () => {
  test('are created with expressions that are tried on samples, and shown as such', async () => {
    const { client, page, streams } = await openStreams();
    const { until } = await heardOn(client, 'celsius');
    await page.getByRole('button', { name: 'New stream' }).click();
    await page.getByLabel('Name', { exact: true }).fill('celsius');
    await page.getByLabel('Source').fill('plant/line1');
    await page.getByLabel('Target', { exact: false }).first().fill('celsius');
    await page.getByRole('radio', { name: 'Expressions (CEL)' }).check();
    await page.getByLabel('Example').selectOption('From °F to °C');
    await page.getByRole('textbox', { name: /^Filter/ }).fill('levels[1] ==');
    await page.getByRole('textbox', { name: /^Samples/ }).fill('{"fahrenheit": 212}\n{}');
    await page.getByText('Unexpected token: EOF').waitFor();
    await page.getByRole('textbox', { name: /^Filter/ }).fill('levels[1] == "line1"');
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByText('{"celsius":100}').waitFor();
    await preview.getByText('a value is missing').waitFor();
    await page.getByLabel('Topic of the samples').fill('plant/line2');
    await preview.getByText('the filter is false').first().waitFor();
    await checkScreen(page, 'stream-expression');
    await page.getByRole('button', { name: 'Save' }).click();

    await expect
      .poll(async () => (await streams())[0]?.query)
      .toEqual({
        expression: { filter: 'levels[1] == "line1"', output: '{"celsius": (payload.fahrenheit - 32) * 5 / 9}' },
      });
    await client.publishAsync('plant/line1', '{"fahrenheit": 50}', { qos: 1 });
    expect((await until(1)).map(({ text }) => text)).toEqual(['{"celsius":10}']);
    await openActions(page, 'celsius');
    await page.getByRole('button', { name: 'Change celsius' }).click();
    expect(await page.getByRole('textbox', { name: /^Filter/ }).inputValue()).toBe('levels[1] == "line1"');
  });

  test('are created with a query that is tried on live messages, changed and deleted', async () => {
    const { client, page, streams, row } = await openStreams();
    const violations = await page.evaluateHandle(`
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
      window.violations;
    `);
    await page.getByRole('button', { name: 'New stream' }).click();
    await page.getByLabel('Name', { exact: true }).fill('fast');
    await page.getByLabel('Source').fill('plant/+/state');
    await page.getByLabel('Target', { exact: false }).first().fill('fast');
    const editor = page.getByRole('textbox', { name: 'Query' });
    await editor.focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.press('Delete');
    await page.keyboard.insertText('{ "select": ');
    await page.getByText('The query is not JSON').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(JSON.stringify(FAST, null, 2));
    // What was typed survives another screen.
    await page.getByRole('link', { name: 'Bridges' }).click();
    await page.goBack();
    await page.getByText('The form has what you typed before.').waitFor();
    await editor.getByText('speed').first().waitFor();
    await page.getByText('Live messages of plant/+/state are collected.').waitFor();
    const take = page.getByRole('button', { name: /^Take [1-9]/ });
    await expect
      .poll(async () => {
        await client.publishAsync('plant/line1/state', '{ "speed": 12.5 }', { qos: 1 });
        return take.count();
      })
      .toBe(1);
    await client.publishAsync('plant/line1/state', '{\n "speed": 3 }', { qos: 1 });
    await expect
      .poll(async () => {
        await take.click();
        return page.getByLabel('Samples').inputValue();
      })
      .toContain('{"speed":3}');
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByText('passes').first().waitFor();
    await preview.getByText('filtered').waitFor();
    expect(
      await page.evaluate(
        'getComputedStyle(document.querySelector(".json-editor").shadowRoot.querySelector(".cm-editor")).display',
      ),
    ).toBe('flex');
    await checkScreen(page, 'stream-editor');
    expect(await violations.jsonValue()).toEqual([]);

    await page.getByRole('button', { name: 'Save' }).click();
    await row('fast').getByText('running').waitFor();
    expect(await streams()).toMatchObject([{ name: 'fast', query: FAST, targetTopic: 'fast' }]);
    await client.publishAsync('plant/line1/state', '{ "speed": 30 }', { qos: 1 });
    await client.publishAsync('plant/line1/state', '{ "speed": 4 }', { qos: 1 });
    await expect
      .poll(() => row('fast').getByRole('cell').allTextContents())
      .toEqual(['running', 'plant/+/state', 'fast', '2', '1', '0', '1', '0', expect.anything()]);

    await openActions(page, 'fast');
    await page.getByRole('button', { name: 'Change fast' }).click();
    await page.getByLabel('Target', { exact: false }).first().fill('faster');
    await page.keyboard.press('Enter');
    await row('fast').getByText('faster').waitFor();
    expect(await streams()).toMatchObject([{ name: 'fast', query: FAST, targetTopic: 'faster' }]);
    await openActions(page, 'fast');
    await page.getByRole('button', { name: 'Switch off fast' }).focus();
    await page.keyboard.press('Enter');
    await row('fast').getByText('switched off').waitFor();
    expect(await streams()).toMatchObject([{ isActive: false }]);
    await openActions(page, 'fast');
    await page.getByRole('button', { name: 'Delete fast' }).click();
    await page.getByText('no longer published on faster').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete fast' }).press('Enter');
    await page.getByText('The stream fast is deleted.').waitFor();
    await page.getByText('There is no stream yet').waitFor();
    expect(await streams()).toEqual([]);
  });

  test('are replayed with progress, and a slow replay can be stopped', async () => {
    const { client, page, change, row } = await openStreams();
    await change('createStream', { name: 'stored', sourceTopic: 'in', persist: true });
    await change('createStream', { name: '__proto__', sourceTopic: 'odd', isActive: false });
    await row('stored').getByText('running').waitFor();
    await Promise.all(Array.from({ length: 50 }, (_, i) => client.publishAsync('in', `{"i":${i}}`, { qos: 1 })));
    await expect.poll(() => row('stored').getByRole('cell').nth(5).textContent()).toBe('50');
    // A running stream whose messages fail is not shown as a healthy one.
    await change('createStream', { name: 'broken', sourceTopic: 'bad', targetTopic: 'none', query: FAST });
    await row('broken').getByText('running').waitFor();
    await client.publishAsync('bad', 'no JSON', { qos: 1 });
    await row('broken').getByText('running, 100 % failed').waitFor();
    const { until } = await heardOn(client, 'replay/#');
    await openActions(page, 'stored');
    await page.getByRole('button', { name: 'Replay stored' }).click();
    await page.getByLabel('Topic of the replay').fill('replay/stored');
    await page.getByLabel('Speed').fill('');
    // A night that has ended has none of these messages; the last hour has all.
    const times = page.getByRole('dialog').getByLabel(/^(From|To)$/);
    await page.getByRole('button', { name: 'Last night' }).click();
    expect(await times.last().inputValue()).toMatch(/ 08:00/);
    await page.getByRole('button', { name: 'Last hour' }).click();
    expect(await times.last().inputValue()).toBe('');
    expect(await times.first().inputValue()).not.toBe('');
    await checkScreen(page, 'stream-replay');
    await page.getByLabel('Speed').press('Enter');
    await page.getByText('Messages: 50 of 50.').waitFor();
    expect(await until(50)).toHaveLength(50);
    await checkScreen(page, 'streams');

    // At a hundredth of the speed, the pause before this message is minutes long.
    await client.publishAsync('in', '{"i":50}', { qos: 1 });
    await expect.poll(() => row('stored').getByRole('cell').nth(5).textContent()).toBe('51');
    await openActions(page, 'stored');
    await page.getByRole('button', { name: 'Replay stored' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Topic of the replay').fill('replay/slow');
    await page.getByLabel('Speed').fill('0.01');
    await page.getByRole('button', { name: 'Start the replay' }).click();
    await page.getByRole('button', { name: 'Stop the replay' }).click();
    await page.getByText('Stopped.').waitFor();
    await page.getByRole('button', { name: 'Delete stored messages …' }).click();
    await page.getByRole('dialog').getByText('Stored messages that are deleted: 51').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete stored messages' }).click();
    await page.getByRole('button', { name: 'Delete stored messages …' }).waitFor({ state: 'detached' });
  });

  test('are shown to a VIEWER without anything that changes them', async () => {
    const { page, change, row } = await openStreams('VIEWER');
    expect(await page.getByRole('button', { name: 'New stream' }).count()).toBe(0);
    await change('createStream', { name: 'stored', sourceTopic: 'in', persist: true });
    await row('stored').getByText('running').waitFor();
    await page.getByRole('button', { name: 'stored' }).click();
    await page.getByText('There was no replay').waitFor();
    expect(await page.getByRole('button', { name: /Actions|Delete|Stop/ }).count()).toBe(0);
  });
});
