import { expect, onTestFinished, test } from 'vitest';
import type { ClientRegistryEvent } from '../../../../src/domains/clients/inspect/client-listing.ts';
import { ClientRegistry, type ClientRegistryOptions } from '../../../../src/domains/clients/inspect/client-registry.ts';
import { inspectPluginFactory } from '../../../../src/domains/clients/inspect/inspect-plugin.ts';
import type { ConnectedClientSummary } from '../../../../src/protocol/apis/clients/inspect-data.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';
import { cursorAt } from '../../../support/cursors.ts';
import { connectedLink, reached } from '../../../support/link.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';

interface Served {
  readonly broker: ScriptedBroker;
  readonly clients: Map<string, ConnectedClientSummary>;
  /** If not null, responses are numbered and events are sent. */
  sequence: number | null;
  /** Number of verbose listings. */
  lists: number;
  /** Number of listings of ids only. */
  questions: number;
  tell(changed: readonly ConnectedClientSummary[], removed?: readonly string[]): Promise<void>;
}

const named = (clientid: string, username = 'u'): ConnectedClientSummary => ({ clientid, username, connected: true });

/** A broker that serves `cedalo/inspect` itself. */
async function serveInspect(count: number, sequence: number | null): Promise<Served> {
  const clients = new Map(
    Array.from({ length: count }, (_, n) => [
      `c${String(n).padStart(4, '0')}`,
      named(`c${String(n).padStart(4, '0')}`, `user ${n % 7}`),
    ]),
  );
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== '$CONTROL/cedalo/inspect/v1') return [];
    const { commands } = JSON.parse(payload) as {
      commands: { command: string; correlationData: string; count: number; offset: number; verbose?: boolean }[];
    };
    const responses = commands.map(({ command, correlationData, count: most, offset, verbose }) => {
      if (verbose === false) served.questions += 1;
      else served.lists += 1;
      const sorted = [...clients.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
      const page = sorted.slice(offset, most < 0 ? undefined : offset + most);
      const numbered = served.sequence === null ? {} : { sequence: served.sequence };
      return { command, correlationData, data: { totalCount: clients.size, clients: page, ...numbered } };
    });
    return [JSON.stringify({ responses })];
  });
  const served: Served = {
    broker,
    clients,
    sequence,
    lists: 0,
    questions: 0,
    async tell(changed, removed = []) {
      for (const client of changed) clients.set(client.clientid, client);
      for (const id of removed) clients.delete(id);
      if (served.sequence === null) return;
      served.sequence += 1;
      const event = { type: 'event', event: 'clientsChanged', sequence: served.sequence, changed, removed };
      await broker.publish('$CONTROL/cedalo/inspect/v1/response', JSON.stringify(event));
    },
  };
  return served;
}

/** `silenceMs`: short where the broker does not serve the list, and says so by silence. */
async function observe(url: string, options: ClientRegistryOptions = {}, silenceMs = 5_000) {
  const link = await connectedLink({ url });
  const controls = new BrokerControls(link, {
    timeoutMs: 30_000,
    silenceMs,
    plugins: [inspectPluginFactory({ lineTimeoutMs: 2_000 })],
  });
  const registry = new ClientRegistry(controls, link, options);
  onTestFinished(async () => {
    registry.close();
    await controls.close();
  });
  return { link, controls, registry };
}

/** Follows a stream into a set of ids; `until` resolves once it holds what is wanted. */
function collect(stream: AsyncIterable<ClientRegistryEvent>) {
  const present = new Set<string>();
  const kinds: string[] = [];
  const ended = (async () => {
    for await (const event of stream) {
      kinds.push(event.kind);
      if (event.kind === 'SNAPSHOT') {
        present.clear();
        for (const { clientid } of event.snapshot.clients) present.add(clientid);
      } else if (event.kind === 'CHANGE') {
        for (const { clientid } of event.change.changed) present.add(clientid);
        for (const clientid of event.change.removed) present.delete(clientid);
      }
    }
  })();
  return { present, kinds, ended };
}

test('a long list is read in pages, paged and filtered', async () => {
  const served = await serveInspect(250, 0);
  const { registry } = await observe(served.broker.url, { pageSize: 100 });
  const page = await registry.page({ offset: 10, count: 2 });
  expect(page).toMatchObject({ totalCount: 250, offset: 10, source: 'BROKER', complete: true, since: null });
  expect(page.clients.map(({ clientid }) => clientid)).toEqual(['c0010', 'c0011']);
  expect((await registry.page({ after: cursorAt('ConnectedClient', 'c0240'), count: 1 })).clients).toMatchObject([
    { clientid: 'c0241' },
  ]);
  expect(
    (await registry.page({ after: cursorAt('ConnectedClient', 'c0240x'), offset: 1, count: 1 })).clients,
  ).toMatchObject([{ clientid: 'c0242' }]);
  expect((await registry.page({ value: 'user 3' })).totalCount).toBe(36);
  expect((await registry.page({ value: 'c00', mode: 'startsWith' })).totalCount).toBe(100);
  expect((await registry.page({ value: '99', mode: 'endsWith' })).totalCount).toBe(2);
  expect((await registry.page({ value: 'c0007', mode: 'equals' })).clients).toMatchObject([{ clientid: 'c0007' }]);
  expect((await registry.page({ value: 'C0007', mode: 'equals' })).clients).toEqual([]);
  expect(await registry.page({ value: 'c0249', mode: 'equals' })).toMatchObject({
    clients: [{ clientid: 'c0249' }],
    source: 'BROKER',
  });
  expect((await registry.page({ value: 'unknown', mode: 'equals' })).clients).toEqual([]);
  // Three pages for all of this.
  expect(served.lists).toBe(3);
});

test('events are applied in order, and a missed event leads to a new listing', async () => {
  const served = await serveInspect(3, 41);
  const { registry } = await observe(served.broker.url);
  const { present, ended } = collect(await registry.watch());
  await expect.poll(() => present.size).toBe(3);
  await served.tell([named('new')], ['c0000']);
  await expect.poll(() => [...present].sort()).toEqual(['c0001', 'c0002', 'new']);
  const { lists } = served;
  const before = served.questions;
  const pages = await Promise.all(Array.from({ length: 20 }, () => registry.page()));
  for (const { totalCount } of pages) expect(totalCount).toBe(3);
  expect(served.lists).toBe(lists);
  // Everybody who waits is caught up by one short question.
  expect(served.questions).toBe(before + 1);
  await served.tell([named('just told')]);
  expect((await registry.page()).totalCount).toBe(4);
  await served.tell([], ['just told']);
  expect((await registry.page()).totalCount).toBe(3);
  served.clients.set('unnoticed', named('unnoticed'));
  served.sequence = 50;
  await served.tell([named('later')]);
  await expect.poll(() => [...present].sort()).toEqual(['c0001', 'c0002', 'later', 'new', 'unnoticed']);
  registry.close();
  await ended;
});

test('an API without events is listed repeatedly while there is a watcher, and dropped afterwards', async () => {
  const served = await serveInspect(2, null);
  const { registry } = await observe(served.broker.url, { pollMs: 30, idleMs: 100 });
  const stream = await registry.watch();
  const { present, ended } = collect(stream);
  await expect.poll(() => present.size).toBe(2);
  await served.tell([named('new')], ['c0001']);
  await expect.poll(() => [...present].sort()).toEqual(['c0000', 'new']);
  await stream.return?.();
  await ended;
  await expect.poll(() => registry.size).toBe(0);
  const { lists } = served;
  expect((await registry.page()).totalCount).toBe(2);
  expect(served.lists).toBe(lists + 1);
});

test('plain Mosquitto is observed through its log across a restart', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { link, registry } = await observe(broker.url, {}, 100);
  const { present, ended } = collect(await registry.watch());
  await broker.client({ clientId: 'one' });
  await expect.poll(() => [...present].sort()).toEqual([link.clientId, 'one'].sort());
  expect(await registry.page({ value: 'one' })).toMatchObject({ source: 'LOG_FEED', since: expect.any(Number) });
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await broker.kill();
  await expect.poll(() => registry.page().catch(({ code }) => code)).toBe('BROKER_UNREACHABLE');
  await broker.start();
  await back;
  await expect.poll(() => [...present]).toEqual([link.clientId]);
  await broker.client({ clientId: 'two' });
  await expect.poll(() => [...present].sort()).toEqual([link.clientId, 'two'].sort());
  registry.close();
  await ended;
});

test('a broker without list and log is an error with the settings, not an empty list', async () => {
  const broker = await startMosquitto();
  const { registry } = await observe(broker.url, {}, 100);
  await expect(registry.page()).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    message: expect.stringContaining('log_dest topic'),
  });
  await expect(registry.watch()).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
});

test('entries of a hostile list that are no clients are omitted', async () => {
  const broker = await startScriptedBroker((_topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: { correlationData: string }[] };
    const clients = [
      null,
      7,
      [],
      {},
      { clientid: 7 },
      { clientid: 'ok', username: 5, queues: 'x', lastConnect: 1_700_000_000, protocol: 'SPX', __proto__: null },
      'name only',
    ];
    return [
      JSON.stringify({
        responses: commands.map(({ correlationData }) => ({
          command: 'listClients',
          correlationData,
          data: { totalCount: 1e9, clients },
        })),
      }),
    ];
  });
  const { registry } = await observe(broker.url, { pageSize: 5 });
  const { clients } = await registry.page();
  expect(clients[0]).toEqual({ clientid: 'name only', username: '<anonymous>' });
  expect(clients).toContainEqual({
    clientid: 'ok',
    username: '<anonymous>',
    queues: undefined,
    lastConnect: 1_700_000_000_000,
  });
});
