import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { describe, expect, onTestFinished, test } from 'vitest';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';
import { isLong } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ADMINISTRATOR, collect, connect, control, startBrokerHere } from './embedded.ts';

const QUOTA_EXCEEDED = 0x97;
const IMPLEMENTATION_ERROR = 0x83;
const KEEPER = {
  clientId: 'keeper',
  clean: false,
  protocolVersion: 5,
  properties: { sessionExpiryInterval: 600 },
} as const;

describe.skipIf(noSmallDisk !== null)('on a small disk', () => {
  test('what needs no disk is served while it is full; the rest is refused with its reason, and works afterwards', async () => {
    const disk = smallDisk(8);
    const { mqttPort: port } = await startBrokerHere({ folder: disk.folder });
    const [five, three] = [await connect(port, { protocolVersion: 5 }), await connect(port, { protocolVersion: 4 })];
    const first = await connect(port, KEEPER);
    await first.subscribeAsync('kept/#', { qos: 1 });
    await first.endAsync();
    const live = await connect(port);
    const received = collect(live);
    await live.subscribeAsync('live/#', { qos: 2 });

    disk.fill();
    const stored: string[] = [];
    for (let refused = 0; refused === 0; ) {
      const text = `${stored.length} ${'x'.repeat(3_000)}`;
      refused = await codeOf(five.publishAsync('kept/a', text, { qos: 1 }));
      if (refused === 0) stored.push(text);
      else expect(refused).toBe(QUOTA_EXCEEDED);
    }
    expect(await codeOf(five.publishAsync('kept/b', 'two', { qos: 2 }))).toBe(QUOTA_EXCEEDED);
    expect(await codeOf(five.publishAsync('retained', 'x', { qos: 1, retain: true }))).toBe(QUOTA_EXCEEDED);
    const dropped = new Promise<void>((resolve) => void three.once('close', () => resolve()));
    void three.publishAsync('kept/c', 'x', { qos: 1 }).catch(() => {});
    await dropped;

    for (const qos of [0, 1, 2] as const) await five.publishAsync(`live/${qos}`, 'x', { qos });
    // It is delivered to subscribers, and not retained.
    await five.publishAsync('live/retained', 'x', { retain: true });
    const another = await connect(port, {
      will: { topic: 'live/will', payload: Buffer.from('x'), qos: 1, retain: false },
    });
    await another.subscribeAsync('other/#', { qos: 1 });
    another.stream.destroy();
    await received.until((seen) => seen.some(({ topic }) => topic === 'live/will'));
    expect(received.messages.map(({ topic }) => topic)).toEqual([
      'live/0',
      'live/1',
      'live/2',
      'live/retained',
      'live/will',
    ]);

    const renewed = { clientId: 'new', clean: false, properties: { sessionExpiryInterval: 600 } };
    expect(await refusalOf(port, { ...renewed, protocolVersion: 5 })).toBe(QUOTA_EXCEEDED);
    expect(await refusalOf(port, { ...renewed, protocolVersion: 4 })).toBe(3);
    const [resumed, queue] = await resume(port, KEEPER);
    await queue.until((seen) => seen.length === stored.length);
    expect(await codesOf(resumed.subscribeAsync('kept/#', { qos: 1 }))).toEqual([1]);
    expect(await codesOf(resumed.subscribeAsync('more/#', { qos: 1 }))).toEqual([QUOTA_EXCEEDED]);
    expect(await resumed.unsubscribeAsync('kept/#')).toMatchObject({ granted: [IMPLEMENTATION_ERROR] });
    const [created] = await control(five, 'dynamic-security', { commands: [{ command: 'createRole', rolename: 'r' }] });
    expect(created?.error).toBe('The broker cannot store: the disk is full');
    const [roles] = await control(five, 'dynamic-security', { commands: [{ command: 'listRoles' }] });
    expect(roles).not.toHaveProperty('error');

    disk.free();
    await expect.poll(() => codeOf(five.publishAsync('kept/z', 'again', { qos: 1 }))).toBe(0);
    await queue.until((seen) => seen.some(({ text }) => text === 'again'));
    expect(queue.messages.map(({ text }) => text)).toEqual([...stored, 'again']);
    await resumed.subscribeAsync('more/#', { qos: 1 });
    await (await connect(port, renewed)).endAsync();
    await control(five, 'dynamic-security', { commands: [{ command: 'createRole', rolename: 'r' }] });
  });

  test('the disk fills at a random write: nothing acknowledged is lost, and who needs no disk never notices', async () => {
    const disk = smallDisk(8);
    const publish = fc.record({
      topic: fc.constantFrom('kept/a', 'kept/b', 'kept/retained'),
      qos: fc.constantFrom(1 as const, 2 as const),
      bytes: fc.integer({ min: 0, max: 20_000 }),
    });
    const spaces = fc.record({ at: fc.nat(29), left: fc.nat(120_000) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(publish, { minLength: 30, maxLength: 60 }),
        spaces,
        fc.nat(3),
        async (all, space, gap) => {
          const folder = mkdtempSync(join(disk.folder, 'run-'));
          const broker = await startBrokerHere({ folder });
          await fillAndCheck(broker.mqttPort, folder, disk, all, space, gap);
          await broker.close();
          rmSync(folder, { recursive: true });
        },
      ),
      // A disk that is still full would fail the runs that shrink the case, too.
      { numRuns: isLong ? 200 : 3, endOnFailure: true },
    );
  });
});

interface Publish {
  readonly topic: string;
  readonly qos: 1 | 2;
  readonly bytes: number;
}

async function fillAndCheck(
  port: number,
  folder: string,
  disk: ReturnType<typeof smallDisk>,
  all: readonly Publish[],
  space: { readonly at: number; readonly left: number },
  gap: number,
): Promise<void> {
  const first = await connect(port, KEEPER);
  await first.subscribeAsync('kept/#', { qos: 2 });
  await first.endAsync();
  const [publisher, live] = [await connect(port, { protocolVersion: 5 }), await connect(port)];
  const seen = collect(live);
  await live.subscribeAsync('live', { qos: 1 });
  const stored: string[] = [];
  const sending: Promise<unknown>[] = [];
  for (const [index, { topic, qos, bytes }] of all.entries()) {
    if (index === space.at) disk.fill(space.left);
    const text = `${index} ${'x'.repeat(bytes)}`;
    const retain = topic === 'kept/retained';
    const sent = codeOf(publisher.publishAsync(topic, text, { qos, retain })).then((code) => {
      if (code === 0) stored.push(text);
      else expect(code).toBe(QUOTA_EXCEEDED);
    });
    sending.push(sent, live.publishAsync('live', String(index), { qos: 1 }));
    if (index % (gap + 1) === 0) await Promise.all(sending);
  }
  await Promise.all(sending);
  await seen.until((messages) => messages.length === all.length);
  expect(seen.messages.map(({ text }) => text)).toEqual(all.map((_publish, index) => String(index)));

  // What the disk has now is what a killed process leaves.
  const copy = temporaryFolder();
  for (const name of ['broker.sqlite', 'broker.sqlite-wal']) copyFileSync(join(folder, name), join(copy, name));
  const killed = await startBrokerHere({ folder: copy });
  await checkStored(killed.mqttPort, stored);
  await killed.close();

  disk.free();
  await expect.poll(() => codeOf(publisher.publishAsync('kept/last', 'last', { qos: 1 }))).toBe(0);
  await checkStored(port, [...stored, 'last']);
  for (const client of [publisher, live]) await client.endAsync(true);
}

/** The session has each acknowledged message once, and no refused one. */
async function checkStored(port: number, stored: readonly string[]): Promise<void> {
  const [client, { until, messages }] = await resume(port, KEEPER);
  await until((seen) => seen.length >= stored.length);
  expect(messages.map(({ text }) => text).sort()).toEqual([...stored].sort());
  await client.endAsync(true);
}

/** Resumes a session, and collects from its first message on. */
async function resume(port: number, options: IClientOptions) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...ADMINISTRATOR, reconnectPeriod: 0, ...options });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  const collected = collect(client);
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve());
    client.once('error', reject);
  });
  return [client, collected] as const;
}

/** The reason code of an acknowledgement; 0 if it was successful. */
const codeOf = (done: Promise<unknown>): Promise<number> =>
  done.then(
    () => 0,
    (error: { readonly code?: number }) => error.code ?? -1,
  );

const codesOf = (done: ReturnType<MqttClient['subscribeAsync']>): Promise<number[]> =>
  done.then(
    (grants) => grants.map(({ qos }) => qos),
    (error: { readonly packet?: { readonly granted: number[] } }) => error.packet?.granted ?? [-1],
  );

const refusalOf = (port: number, options: IClientOptions): Promise<number> => codeOf(connect(port, options));
