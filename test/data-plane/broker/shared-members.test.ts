import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLong, runs } from '../../support/suite.ts';
import { useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { acknowledgeAll, got, type MemberOptions, member, numbers, publish, type Raw, subscribe } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

/** Members of a shared subscription that come, go, are cut, and acknowledge nothing. */

const broker = useTestBroker();
const SESSION = { clean: false, properties: { sessionExpiryInterval: 600 } } as const;
const QUOTA_EXCEEDED = 0x97;
const FILTER = '$share/g/work/#';

test('connected members with room get equal shares, and one that acknowledges nothing does not delay them', async () => {
  const port = broker().mqttPort;
  const fair = [];
  for (const clientId of ['one', 'two', 'three']) fair.push(await member(port, FILTER, { clientId }));
  const stuck = await member(port, FILTER, {
    clientId: 'stuck',
    acknowledges: false,
    properties: { receiveMaximum: 1 },
  });
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'work/a', numbers(301));
  for (const client of [...fair, stuck]) await client.settle();
  expect(got(stuck)).toHaveLength(1);
  expect(fair.map((client) => got(client).length)).toEqual([100, 100, 100]);
  // What it has not acknowledged goes to another member when it leaves.
  await stuck.leave();
  await publish(publisher, 'work/a', ['last']);
  for (const client of fair) await client.settle();
  const all = fair.flatMap(got);
  expect(new Set(all).size).toBe(302);
  expect(all).toHaveLength(302);
  for (const client of [...fair, publisher]) await client.leave();
});

test('messages are queued for a session only if no member is connected', async () => {
  const port = broker().mqttPort;
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await (await member(port, FILTER, { clientId: 'asleep', ...SESSION })).leave();
  const awake = await member(port, FILTER, { clientId: 'awake' });
  await publish(publisher, 'work/a', ['to the connected one']);
  await awake.settle();
  await awake.leave();
  await publish(publisher, 'work/a', ['to the session'], { qos: 2 });
  await publish(publisher, 'work/a', ['to none'], { qos: 0 });
  expect(got(awake)).toEqual(['to the connected one']);
  const back = await member(port, FILTER, { clientId: 'asleep', ...SESSION });
  await back.settle();
  expect(got(back)).toEqual(['to the session']);
  back.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [FILTER] });
  await back.until('unsuback', 1);
  for (const client of [back, publisher]) await client.leave();
});

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('publish' as const), qos: fc.constantFrom(1, 2) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      isKept: fc.boolean(),
      acknowledges: fc.boolean(),
      receiveMaximum: fc.constantFrom(1, 3, 100),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), which: fc.nat(9) }) },
);

test('each acknowledged QoS 1 message reaches a member, and a QoS 2 message exactly one', async () => {
  const port = broker().mqttPort;
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40 }), async (steps) => {
      round += 1;
      const topic = `work-${round}`;
      const filter = `$share/g/${topic}`;
      const publisher = await rawClient(port, { clientId: 'publisher' });
      // A message of QoS 2 that is sent to a member is lost with its session [MQTT-4.8.2-5]. So a member first reads
      // what was sent to it, without room for more, and the next leaves when the broker has seen its end.
      const gone = `gone-${round}`;
      const watcher = await rawClient(port, { clientId: 'watcher' }, gone);
      const will = { topic: gone, payload: Buffer.from('gone'), qos: 0, retain: false } as const;
      // A session that always exists, so that no message is without a member.
      await (await member(port, filter, { clientId: `keeper-${round}`, ...SESSION })).leave();
      const connected: { readonly client: Raw; readonly stopAcknowledging: () => void }[] = [];
      const clients: { readonly clientId: string; readonly client: Raw }[] = [];
      const join = async (clientId: string, options: MemberOptions) => {
        const client = await member(port, filter, { clientId, ...options });
        clients.push({ clientId, client });
        return client;
      };
      const leave = async ({ client, stopAcknowledging }: (typeof connected)[number]) => {
        stopAcknowledging();
        await client.settle();
        const ended = watcher.until('publish', watcher.count('publish') + 1);
        await client.leave();
        await ended;
      };
      const sent: { readonly text: string; readonly qos: number }[] = [];
      for (const [number, one] of steps.entries()) {
        if (one.kind === 'publish') {
          sent.push({ text: `${number}`, qos: one.qos });
          await publish(publisher, topic, [`${number}`], { qos: one.qos === 2 ? 2 : 1 });
        } else if (one.kind === 'join') {
          const { isKept, acknowledges, receiveMaximum } = one;
          const properties = { receiveMaximum, ...(isKept ? SESSION.properties : {}) };
          const options = { clean: !isKept, acknowledges: false, properties, will };
          const client = await join(`member-${round}-${number}`, options);
          connected.push({ client, stopAcknowledging: acknowledges ? acknowledgeAll(client) : () => undefined });
        } else {
          const [left] = connected.splice(one.which % Math.max(1, connected.length), 1);
          if (left) await leave(left);
        }
      }
      for (const one of connected) await leave(one);
      // Sessions get what they had not acknowledged, or what was queued for them.
      for (const [number, one] of steps.entries()) {
        if (one.kind === 'join' && one.isKept) await join(`member-${round}-${number}`, SESSION);
      }
      await join(`keeper-${round}`, SESSION);
      const membersWith = (text: string) =>
        new Set(clients.flatMap(({ clientId, client }) => (got(client).includes(text) ? [clientId] : []))).size;
      await expect.poll(() => sent.filter(({ text }) => membersWith(text) === 0)).toEqual([]);
      for (const { text, qos } of sent) if (qos === 2) expect(membersWith(text), `${text} at QoS 2`).toBe(1);
      for (const { client } of clients) await client.leave();
      for (const client of [publisher, watcher]) await client.leave();
    }),
    { numRuns: runs(isLong ? 100 : 30) },
  );
});

test('a shared subscription beyond the limit of the broker gets 0x97; existing ones take members, and one client has not all', async () => {
  const { port } = await startTappedCore(undefined, { maxSharedGroups: 200 });
  const filters = (client: string, count: number) => numbers(count).map((number) => `$share/${client}-${number}/work`);
  const refusedOf = (granted: (number | object)[] | null) => granted?.filter((code) => code === QUOTA_EXCEEDED).length;
  const greedy = await rawClient(port, { clientId: 'greedy' });
  expect(refusedOf(await subscribe(greedy, filters('greedy', 150), { qos: 0 }))).toBe(50);
  for (const number of numbers(50)) {
    const client = await rawClient(port, { clientId: `small-${number}` });
    expect(await subscribe(client, filters(`small-${number}`, 2), { qos: 0 })).toEqual([0, 0]);
  }
  const late = await rawClient(port, { clientId: 'late' });
  const [existing = ''] = filters('greedy', 1);
  expect(await subscribe(late, ['$share/late/work', existing, 'work'], { qos: 0 })).toEqual([QUOTA_EXCEEDED, 0, 0]);
  // A group that ends makes room.
  greedy.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: filters('greedy', 2) });
  await greedy.until('unsuback', 1);
  const last = await rawClient(port, { clientId: 'last' });
  expect(await subscribe(last, '$share/last/work', { qos: 0 })).toEqual([0]);
  await publish(late, 'work', ['to each group']);
  await greedy.until('publish', 98);
  await late.until('publish', 2);
});
