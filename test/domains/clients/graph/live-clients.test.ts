import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type EventStream, openStream, TRANSPORTS } from '../../../support/event-stream.ts';
import { startClient } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';

const WATCH = `subscription ($id: ID!, $filter: ConnectedClientFilter, $form: ConnectedClientsForm!, $after: SafeInt) {
  connectedClients(brokerId: $id, filter: $filter, form: $form, after: $after) {
    kind sequence partsLeft totalCount connectedCount changedIds removedIds removed clients { id clientId }
  }
}`;

interface Event {
  readonly kind: string;
  readonly sequence: number;
  readonly totalCount: number;
  readonly connectedCount: number;
  readonly changedIds: readonly string[];
  readonly removedIds: readonly string[];
  readonly removed: readonly string[];
  readonly clients: readonly { readonly id: string; readonly clientId: string }[];
}

async function start() {
  const service = await startTestService({ embeddedBroker: true });
  const { mqtt } = service.report;
  if (!mqtt) throw new Error('The embedded broker did not start');
  const { id } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(mqtt.passwordFile, 'utf8').trim();
  const join = (clientId: string) => startClient(mqtt.url, { clientId, username: mqtt.username, password });
  const watch = (transport: (typeof TRANSPORTS)[number], variables: Record<string, unknown>) =>
    openStream(transport, `${service.url}/graphql`, service.root, {
      query: WATCH,
      variables: { id, form: 'CLIENTS', ...variables },
    });
  return { service, id, join, watch };
}

const next = async (stream: EventStream): Promise<Event> => (await stream.until(() => true)).connectedClients;
const names = ({ clients }: Event) => clients.map(({ clientId }) => clientId);

test.each(TRANSPORTS)('a filtered subscription over %s sends only matching clients', async (transport) => {
  const { join, watch } = await start();
  const [line1] = [await join('line-1'), await join('other-1')];
  const filter = { value: 'line-', mode: 'STARTS_WITH', isConnected: true };
  const stream = watch(transport, { filter });
  const first = await next(stream);
  expect([first.kind, first.totalCount, first.connectedCount, names(first)]).toEqual(['SNAPSHOT', 1, 1, ['line-1']]);

  const other = await join('other-2');
  await other.endAsync();
  await join('line-2');
  const added = await next(stream);
  expect([added.kind, added.sequence, added.totalCount]).toEqual(['CHANGE', first.sequence + 1, 2]);
  expect(names(added)).toEqual(['line-2']);
  expect(added.changedIds).toEqual(added.clients.map(({ id }) => id));

  await line1.endAsync();
  const removed = await next(stream);
  expect([removed.totalCount, removed.removed, removed.clients]).toEqual([1, ['line-1'], []]);
  expect(removed.removedIds).toEqual(first.clients.map(({ id }) => id));

  const resumed = watch(transport, { filter, after: added.sequence });
  expect((await next(resumed)).kind).toBe('RESUMED');
  expect(await next(resumed)).toEqual(removed);
});

test.each(TRANSPORTS)('a subscription over %s follows the clients of a list of ids', async (transport) => {
  const { join, watch } = await start();
  await Promise.all(['a', 'b', 'c'].map(join));
  const stream = watch(transport, { filter: { clientIds: ['b', 'd', 'a', 'b'] } });
  expect(names(await next(stream))).toEqual(['a', 'b']);
  await join('e');
  await join('d');
  expect(names(await next(stream))).toEqual(['d']);
  const both = watch(transport, { filter: { clientIds: ['a', 'b', 'e'], value: 'b' } });
  expect(names(await next(both))).toEqual(['b']);
  expect(names(await next(watch(transport, { filter: { clientIds: [] } })))).toEqual([]);
});

test.each(TRANSPORTS)('the form COUNTS over %s sends counts and ids only', async (transport) => {
  const { join, watch } = await start();
  await join('a');
  const stream = watch(transport, { form: 'COUNTS' });
  const first = await next(stream);
  expect(first).toMatchObject({ kind: 'SNAPSHOT', partsLeft: 0, clients: [], changedIds: [] });
  const b = await join('b');
  const added = await next(stream);
  expect(added).toMatchObject({ kind: 'CHANGE', totalCount: first.totalCount + 1, clients: [] });
  expect(added.changedIds).toHaveLength(1);
  await b.endAsync();
  expect(await next(stream)).toMatchObject({ totalCount: first.totalCount, removedIds: added.changedIds });
});

test('too many client ids and too long texts are refused, the maximum is not', async () => {
  const { service, id } = await start();
  const codes = async (variables: object) => {
    const stream = openStream('SSE', `${service.url}/graphql`, service.root, {
      query: WATCH,
      variables: { id, form: 'CLIENTS', ...variables },
    });
    return stream
      .until(() => true)
      .then(
        () => 'none',
        (error: Error) => /"code":"(\w+)"/.exec(error.message)?.[1],
      );
  };
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);
  expect(await codes({ filter: { clientIds: ids(1_000) } })).toBe('none');
  expect(await codes({ filter: { clientIds: ids(1_001) } })).toBe('INVALID');
  expect(await codes({ filter: { value: 'x'.repeat(1_000) } })).toBe('none');
  expect(await codes({ filter: { value: 'x'.repeat(1_001) } })).toBe('INVALID');
});
