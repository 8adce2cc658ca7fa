import { expect, onTestFinished, test } from 'vitest';
import { BrokerControls, type BrokerControlsOptions } from '../../../src/protocol/control/broker-controls.ts';
import type { ControlApi } from '../../../src/protocol/control/envelope.ts';
import { listPages } from '../../../src/protocol/control/list-pages.ts';
import { ControlRefusal, type PluginFactory } from '../../../src/protocol/control/plugin.ts';
import type { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { mosquittoDialect } from '../../domains/access-control/dialects.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink, openLink, reached } from '../../support/link.ts';
import { ADMIN, sinceVersion, startMosquitto } from '../../support/mosquitto.ts';

/** Longer than the timeout of a test. */
const NEVER_MS = 600_000;

function controlsOf(link: BrokerLink, options: Partial<BrokerControlsOptions> = {}): BrokerControls {
  const controls = new BrokerControls(link, { timeoutMs: NEVER_MS, ...options });
  onTestFinished(() => controls.close());
  return controls;
}

const topictree: PluginFactory & { created: number; closed: number } = {
  api: 'cedalo/topictree',
  created: 0,
  closed: 0,
  async create({ emit }) {
    this.created += 1;
    return {
      api: 'cedalo/topictree',
      execute({ command, ...fields }) {
        if (command === 'removeFilter') throw new ControlRefusal('Filter not found');
        emit({ type: 'event', event: 'asked', command });
        return fields;
      },
      close: () => {
        this.closed += 1;
      },
    };
  },
};

test('APIs are served by Mosquitto or by a gateway plugin, and the others have a reason', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const plugin = { ...topictree };
  const refusing: PluginFactory = {
    api: 'stream-processing',
    create: async () => ({ unavailable: { code: 'NOT_OFFERED', text: 'set `something true`' } }),
  };
  const controls = controlsOf(await connectedLink({ url: broker.url, ...ADMIN }), { plugins: [plugin, refusing] });
  const capabilities = await controls.capabilities();
  const providers = Object.fromEntries(capabilities.map(({ api, provider }) => [api, provider]));
  expect(providers).toMatchObject({
    'dynamic-security': 'BROKER',
    'cedalo/topictree': 'GATEWAY',
    'stream-processing': 'NONE',
    'cedalo/ha': 'NONE',
  });
  expect(capabilities.find(({ api }) => api === 'stream-processing')?.reason).toBe('set `something true`');
  // MQTT 5 reports the refused publish, and the reason names the missing permissions.
  expect(capabilities.find(({ api }) => api === 'cedalo/ha')?.reason).toContain(
    'permission to publish to $CONTROL/cedalo/ha/v1',
  );
  await expect(controls.call('cedalo/ha', 'getCluster')).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  await expect(controls.call('dynamic-security', 'listGroups')).resolves.toEqual({ totalCount: 0, groups: [] });
});

test('writes to access control are reported, of this client and of others, and reads are not', async () => {
  const { url } = await startMosquitto({ access: 'dynsec' });
  let writes = 0;
  const onAccessWrite = () => {
    writes += 1;
  };
  const controls = controlsOf(await connectedLink({ url, ...ADMIN }), { onAccessWrite });
  const other = controlsOf(await connectedLink({ url, ...ADMIN }));
  await controls.call('dynamic-security', 'listRoles');
  expect(writes).toBe(0);
  await controls.call('dynamic-security', 'createRole', { rolename: 'own' });
  expect(writes).toBe(1);
  await other.call('dynamic-security', 'createRole', { rolename: 'other' });
  await expect.poll(() => writes).toBe(2);
});

/** A broker, and a role of its administrator that can be changed without a disconnect. */
async function grantingBroker() {
  const broker = await startMosquitto({ access: 'dynsec' });
  const other = controlsOf(await connectedLink({ url: broker.url, ...ADMIN }), { silenceMs: 100 });
  const rights: object[] = [];
  const grant = (by: BrokerControls, api: ControlApi) => {
    rights.push({ acltype: 'publishClientSend', topic: `$CONTROL/${api}/v1`, allow: true });
    return by.call('dynamic-security', 'modifyRole', { rolename: 'more', acls: rights });
  };
  await other.call('dynamic-security', 'createRole', { rolename: 'more' });
  // The broker disconnects a client whose roles change.
  await other.call('dynamic-security', 'addClientRole', { ...ADMIN, rolename: 'more' }).catch(() => undefined);
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  await expect.poll(() => other.call('dynamic-security', 'listRoles').catch(() => null)).not.toBeNull();
  return { link, other, grant };
}

const MISSING = expect.stringContaining('its user needs permission to publish');

/** Mosquitto 2.1 disconnects each client whose roles change, so that its next connection is probed again. */
const grantTest = test.skipIf(mosquittoDialect().disconnectsOnRoleAcls);

grantTest('a refused probe is repeated after any change of the access control, and a silent one is not', async () => {
  const { link, other, grant } = await grantingBroker();
  const { since } = link.status;
  const controls = controlsOf(link, { silenceMs: 100 });
  const refused = await controls.capability('cedalo/ha');
  expect(refused.reason).toEqual(MISSING);
  expect((await controls.capability('cedalo/topictree')).reason).toEqual(MISSING);
  await controls.call('dynamic-security', 'listRoles');
  expect(await controls.capability('cedalo/ha')).toBe(refused);
  await grant(controls, 'cedalo/ha');
  const silent = await controls.capability('cedalo/ha');
  expect(silent.reason).toBe('The broker has no cluster plugin');
  await grant(other, 'cedalo/topictree');
  await expect
    .poll(async () => (await controls.capability('cedalo/topictree')).reason)
    .toBe('The broker does not offer cedalo/topictree');
  expect(await controls.capability('cedalo/ha')).toBe(silent);
  expect(link.status.since).toBe(since);
});

grantTest('a refused probe is repeated on demand after a while, and a silent one is not', async () => {
  const { link, other, grant } = await grantingBroker();
  const { since } = link.status;
  // It does not see what others do: nothing of dynamic security is asked for here.
  const controls = controlsOf(link, { silenceMs: 100, doubtMs: 100 });
  expect((await controls.capability('cedalo/ha')).reason).toEqual(MISSING);
  await grant(other, 'cedalo/ha');
  await expect
    .poll(async () => (await controls.capability('cedalo/ha')).reason)
    .toBe('The broker has no cluster plugin');
  const silent = await controls.capability('cedalo/ha');
  await expect.poll(() => Date.now() - silent.since).toBeGreaterThan(150);
  expect(await controls.capability('cedalo/ha')).toBe(silent);
  expect(link.status.since).toBe(since);
});

test('gateway plugins are called with the semantics of the protocol', async () => {
  const broker = await startMosquitto();
  const plugin = { ...topictree };
  const controls = controlsOf(await connectedLink({ url: broker.url }), { plugins: [plugin], silenceMs: 100 });
  const events: unknown[] = [];
  controls.onEvent('cedalo/topictree', (event) => events.push(event));
  const answers = await Promise.all(
    [1, 2, 3].map((n) => controls.call('cedalo/topictree', 'setTtl', { ttl: n, none: null })),
  );
  expect(answers).toEqual([{ ttl: 1 }, { ttl: 2 }, { ttl: 3 }]);
  expect(plugin.created).toBe(1);
  expect(events).toHaveLength(3);
  await expect(controls.call('cedalo/topictree', 'removeFilter')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    info: { brokerError: 'Filter not found' },
  });
  await controls.close();
  expect(plugin.closed).toBe(1);
});

test('a gateway plugin executes a group in order, and a group of an API without a provider is refused', async () => {
  const broker = await startMosquitto();
  const running: number[] = [];
  const order: unknown[] = [];
  const plugin: PluginFactory = {
    api: 'cedalo/topictree',
    create: async () => ({
      api: 'cedalo/topictree',
      async execute({ command, n }) {
        running.push(1);
        expect(running).toHaveLength(1);
        await Promise.resolve();
        running.pop();
        order.push(n);
        if (command === 'removeFilter') throw new ControlRefusal('Filter not found');
        return { n };
      },
      close: () => undefined,
    }),
  };
  const controls = controlsOf(await connectedLink({ url: broker.url }), { plugins: [plugin], silenceMs: 100 });
  const results = await controls.callAll('cedalo/topictree', [
    { command: 'setTtl', fields: { n: 1 } },
    { command: 'removeFilter', fields: { n: 2 } },
    { command: 'setTtl', fields: { n: 3 } },
  ]);
  expect(order).toEqual([1, 2, 3]);
  expect(results).toMatchObject([{ value: { n: 1 } }, { reason: { code: 'NOT_FOUND' } }, { value: { n: 3 } }]);
  expect(await controls.callAll('cedalo/ha', [{ command: 'getCluster' }])).toMatchObject([
    { status: 'rejected', reason: { code: 'NOT_SUPPORTED_BY_BROKER' } },
  ]);
});

test('a silent endpoint counts as not served after about a second, once per connection', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const controls = controlsOf(link);
  const from = Date.now();
  const both = await Promise.all([controls.capability('cedalo/inspect'), controls.capability('cedalo/inspect')]);
  // Mosquitto 2.1 responds that there is no such endpoint.
  expect(Date.now() - from).toBeGreaterThan(sinceVersion({ '2.0.0': 900, '2.1.0': -1 }));
  expect(both[0]).toBe(both[1]);
  expect(both[0]).toMatchObject({ provider: 'NONE' });
  await expect(controls.call('cedalo/inspect', 'listClients')).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
  });
  expect(await controls.capability('cedalo/inspect')).toBe(both[0]);
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await broker.stop();
  await broker.start();
  await back;
  expect((await controls.capability('cedalo/inspect')).since).toBeGreaterThan(both[0].since);
});

test('an endpoint that was silent is served as soon as it responds, if no plugin replaces it', async () => {
  const probes: { api: string; command: string; correlationData: string }[] = [];
  const broker = await startScriptedBroker((topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
    for (const { command, correlationData } of commands) probes.push({ api: topic, command, correlationData });
    return [];
  });
  const link = await connectedLink({ url: broker.url });
  const controls = controlsOf(link, { silenceMs: 50, plugins: [{ ...topictree }] });
  const providers = async () =>
    Promise.all(
      (['broker', 'cedalo/ha', 'cedalo/topictree'] as const).map(
        async (api) => (await controls.capability(api)).provider,
      ),
    );
  expect(await providers()).toEqual(['NONE', 'NONE', 'GATEWAY']);
  for (const { api, ...probe } of probes) {
    const outcome = api.includes('/ha/') ? { error: 'endpoint not available' } : { data: {} };
    await broker.publish(`${api}/response`, JSON.stringify({ responses: [{ ...probe, ...outcome }] }));
  }
  await expect.poll(providers).toEqual(['BROKER', 'NONE', 'GATEWAY']);
});

test('calls wait for the first connection, and fail immediately when the broker is down', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const link = openLink({ url: broker.url, ...ADMIN });
  const controls = controlsOf(link);
  await expect(controls.call('dynamic-security', 'listRoles')).resolves.toMatchObject({ totalCount: 1 });
  const down = reached(link, 'UNREACHABLE');
  await broker.stop();
  await down;
  await expect(controls.call('dynamic-security', 'listRoles')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await expect(controls.capability('cedalo/ha')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('a plugin of the broker without a license is replaced by a gateway plugin', async () => {
  const broker = await startScriptedBroker((_topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
    return [JSON.stringify({ responses: commands.map((command) => ({ ...command, error: 'No valid license' })) })];
  });
  const plugin = { ...topictree };
  const controls = controlsOf(await connectedLink({ url: broker.url }), { plugins: [plugin] });
  expect(await controls.capability('cedalo/topictree')).toMatchObject({ provider: 'GATEWAY' });
  expect(await controls.capability('cedalo/client-control')).toMatchObject({ provider: 'NONE' });
});

test('a broker that always responds, but late, is probed once, and a later call receives the result', async () => {
  const questions: string[] = [];
  const broker = await startScriptedBroker((_topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
    const [{ command, correlationData } = { command: '', correlationData: '' }] = commands;
    if (command !== 'getTtl')
      return [JSON.stringify({ responses: [{ command, correlationData, data: { found: 1 } }] })];
    questions.push(correlationData);
    return [];
  });
  const plugin = { ...topictree };
  const link = await connectedLink({ url: broker.url });
  const controls = controlsOf(link, { timeoutMs: 300, silenceMs: null, plugins: [plugin] });
  for (const _ of ['first', 'second'])
    await expect(controls.call('cedalo/topictree', 'find')).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  await expect.poll(() => questions.length).toBe(1);
  const [correlationData] = questions;
  const answer = { responses: [{ command: 'getTtl', correlationData, data: {} }] };
  await broker.publish('$CONTROL/cedalo/topictree/v1/response', JSON.stringify(answer));
  await expect.poll(() => controls.call('cedalo/topictree', 'find').catch(() => null)).toEqual({ found: 1 });
  expect([questions.length, plugin.created]).toEqual([1, 0]);
});

test('a broker that is too busy to respond within the time of a probe still counts as serving the API', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = controlsOf(link, { silenceMs: 100 });
  // The response topic is subscribed already.
  await controls.capability('cedalo/ha');
  broker.suspend();
  const from = Date.now();
  const found = controls.capability('dynamic-security');
  await expect.poll(() => Date.now() - from).toBeGreaterThan(400);
  broker.resume();
  expect(await found).toMatchObject({ provider: 'BROKER' });
});

test('listPages reads a long list completely, with page sizes that adapt to the items', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const controls = controlsOf(await connectedLink({ url: broker.url, ...ADMIN }));
  const names = [...Array(500).keys()].map((n) => `role-${String(n).padStart(4, '0')}`);
  await Promise.all(names.map((rolename) => controls.call('dynamic-security', 'createRole', { rolename })));
  const { items, totalCount, pages } = await listPages<string>(controls, 'dynamic-security', 'listRoles', 'roles', {
    firstPage: 50,
  });
  expect(items).toEqual(['admin', ...names]);
  expect(totalCount).toBe(501);
  expect(pages).toHaveLength(2);
  const page = await listPages(controls, 'dynamic-security', 'listRoles', 'roles', { offset: 499, count: 10 });
  expect(page).toMatchObject({ items: ['role-0498', 'role-0499'], totalCount: 501 });
  const named = await listPages<string>(controls, 'dynamic-security', 'listRoles', 'roles', {
    firstPage: 7,
    pageBytes: 700,
    nameOf: (item) => item,
  });
  expect(named).toMatchObject({ items: ['admin', ...names], isSteady: true });
  await expect(listPages(controls, 'dynamic-security', 'listRoles', 'roles', { maxItems: 500 })).rejects.toMatchObject({
    code: 'TOO_LARGE',
  });
});

test('listPages reports a list that changed between pages, and requests smaller pages without a response', async () => {
  let names = Array.from({ length: 16 }, (_, n) => `n${String(n).padStart(2, '0')}`);
  let mostAnswered = Number.POSITIVE_INFINITY;
  let afterFirst = () => undefined as unknown;
  const counts: number[] = [];
  const broker = await startScriptedBroker((_topic, payload) => {
    const { commands } = JSON.parse(payload) as {
      commands: { command: string; correlationData: string; count: number; offset: number }[];
    };
    const responses = commands.map(({ command, correlationData, count, offset = 0 }) => {
      counts.push(count);
      if (offset > 0) afterFirst();
      return {
        command,
        correlationData,
        data: { totalCount: names.length, roles: names.slice(offset, offset + count) },
      };
    });
    return counts.at(-1) !== undefined && (counts.at(-1) ?? 0) > mostAnswered ? [] : [JSON.stringify({ responses })];
  });
  const controls = controlsOf(await connectedLink({ url: broker.url }), { timeoutMs: 500 });
  const read = () =>
    listPages<string>(controls, 'dynamic-security', 'listRoles', 'roles', {
      firstPage: 8,
      pageBytes: 40,
      nameOf: (item) => item,
    });
  expect(await read()).toMatchObject({ items: names, isSteady: true });
  // One left at the front and one came at the end: as many as before, and one would be missed.
  afterFirst = () => {
    afterFirst = () => undefined;
    names = [...names.slice(1), 'z'];
  };
  expect(await read()).toMatchObject({ isSteady: false });
  mostAnswered = 3;
  counts.length = 0;
  expect(await read()).toMatchObject({ items: names, isSteady: true });
  expect(counts.slice(0, 3)).toEqual([8, 4, 2]);
});

test('a plugin with stored data serves before the broker was probed, and is closed when the broker serves the API', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  await broker.stop();
  const kept: PluginFactory & { closed: number } = {
    api: 'dynamic-security',
    closed: 0,
    isKept: () => true,
    async create() {
      return {
        api: 'dynamic-security',
        execute: () => 'kept',
        close: () => {
          this.closed += 1;
        },
      };
    },
  };
  const link = openLink({ url: broker.url, ...ADMIN });
  const controls = controlsOf(link, { plugins: [kept, { ...topictree }], silenceMs: 100 });
  await reached(link, 'UNREACHABLE');
  expect(await controls.capability('dynamic-security')).toMatchObject({ provider: 'GATEWAY' });
  expect(await controls.call('dynamic-security', 'listGroups')).toBe('kept');
  await expect(controls.call('cedalo/topictree', 'setTtl')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await broker.start();
  await reached(link, 'CONNECTED');
  expect(await controls.call('dynamic-security', 'listGroups')).toEqual({ totalCount: 0, groups: [] });
  expect(kept.closed).toBe(1);
  expect(await controls.capability('cedalo/topictree')).toMatchObject({ provider: 'GATEWAY' });
});
