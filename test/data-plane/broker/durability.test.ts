import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import mqtt, { type IClientOptions, Store } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { isLong } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { ADMINISTRATOR, collect, connect, startTestBroker } from './embedded.ts';

const connectTo = (url: string, options: IClientOptions = {}) => connect(Number(new URL(url).port), options);

/** Connects and collects from the first message on. */
function collectFrom(url: string, options: IClientOptions) {
  const client = mqtt.connect(url, { ...ADMINISTRATOR, protocolVersion: 4, reconnectPeriod: 0, ...options });
  client.on('error', () => {});
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return { client, ...collect(client) };
}

const ROUNDS = isLong ? 6 : 1;

test('kill -9 at random moments loses no acknowledged message, retained message or session', async () => {
  const folder = temporaryFolder();
  const acknowledged: string[] = [];
  const retained = new Map<string, number>();
  const sessions: string[] = [];
  let process = await startBrokerProcess(folder);
  const device = await connectTo(process.url, { clientId: 'device', clean: false });
  await device.subscribeAsync('queue/#', { qos: 2 });
  await device.endAsync();

  for (let round = 0; round < ROUNDS; round += 1) {
    const { url, whileAlive } = process;
    const publisher = await connectTo(url);
    let running = true;
    let [stored, joined] = [0, 0];
    let progressed = () => {};
    /** However busy the machine is, the kill comes in the midst of work. */
    const inFlight = new Promise<void>((resolve) => {
      progressed = () => {
        if (stored >= 2 && joined >= 2) resolve();
      };
    });
    const publishing = [1, 2].map(async (qos) => {
      for (let index = 0; running && index < 80; index += 1) {
        const text = `${round}-${qos}-${index}`;
        const sent = await whileAlive(publisher.publishAsync(`queue/${qos}`, text, { qos: qos as 1 | 2 }));
        if (!sent) return;
        acknowledged.push(text);
        stored += 1;
        progressed();
      }
    });
    const retaining = (async () => {
      for (let index = 0; running; index += 1) {
        const topic = `kept/${index % 20}`;
        const value = round * 1_000_000 + index;
        if (!(await whileAlive(publisher.publishAsync(topic, String(value), { qos: 1, retain: true })))) return;
        retained.set(topic, value);
      }
    })();
    const joining = (async () => {
      for (let index = 0; running; index += 1) {
        const clientId = `session-${round}-${index}`;
        const client = await whileAlive(connectTo(url, { clientId, clean: false }));
        if (!client || !(await whileAlive(client.subscribeAsync(`own/${clientId}`, { qos: 1 })))) return;
        sessions.push(clientId);
        joined += 1;
        progressed();
        await whileAlive(client.endAsync());
      }
    })();
    await inFlight;
    await delay(Math.random() * 300);
    await process.kill();
    running = false;
    publisher.end(true);
    await Promise.all([...publishing, retaining, joining]);
    process = await startBrokerProcess(folder);
  }

  const { url } = process;
  const admin = await connectTo(url);
  expect(acknowledged.length).toBeGreaterThanOrEqual(2 * ROUNDS);
  expect(sessions.length).toBeGreaterThanOrEqual(2 * ROUNDS);
  for (const clientId of sessions) await admin.publishAsync(`own/${clientId}`, clientId, { qos: 1 });
  for (const clientId of sessions) {
    const { client, until } = collectFrom(url, { clientId, clean: false });
    await until((seen) => seen.some(({ text }) => text === clientId));
    await client.endAsync();
  }

  await admin.publishAsync('queue/end', 'end', { qos: 2 });
  const back = collectFrom(url, { clientId: 'device', clean: false });
  const queued = await back.until((seen) => seen.at(-1)?.text === 'end');
  const texts = queued.map(({ text }) => text);
  expect(acknowledged.filter((text) => !texts.includes(text))).toEqual([]);

  const keeper = collect(admin);
  await admin.subscribeAsync('kept/#', { qos: 1 });
  const kept = await keeper.until((seen) => seen.length >= retained.size);
  for (const { topic, text } of kept) expect(Number(text), topic).toBeGreaterThanOrEqual(retained.get(topic) ?? 0);
});

test('kill -9 loses no acknowledged retained message, and no acknowledged deletion', async () => {
  const folder = temporaryFolder();
  const topics = Array.from({ length: 30 }, (_, i) => `kept/${i}`);
  /** What a topic may have: the acknowledged payload, and the last one that was sent. Empty: deleted. */
  const possible = new Map<string, string[]>();
  let broker = await startBrokerProcess(folder);
  for (let round = 0; round < ROUNDS / 2; round += 1) {
    const { url, whileAlive } = broker;
    const publisher = await connectTo(url);
    let sent = 0;
    let isWorking = () => {};
    const working = new Promise<void>((resolve) => {
      isWorking = resolve;
    });
    const publishing = topics.map(async (topic, number) => {
      for (let index = 0; ; index += 1) {
        const payload = (index + number) % 3 === 0 ? '' : `${round}:${index}`;
        possible.set(topic, [...(possible.get(topic) ?? ['']), payload]);
        if (!(await whileAlive(publisher.publishAsync(topic, payload, { qos: 1, retain: true })))) return;
        possible.set(topic, [payload]);
        sent += 1;
        if (sent === 300) isWorking();
      }
    });
    await working;
    await delay(Math.random() * 100);
    await broker.kill();
    publisher.end(true);
    await Promise.all(publishing);
    broker = await startBrokerProcess(folder);
  }
  const reader = await connectTo(broker.url);
  const { messages, until } = collect(reader);
  await reader.subscribeAsync('#', { qos: 1 });
  await reader.publishAsync('end', 'end', { qos: 1 });
  await until((seen) => seen.at(-1)?.topic === 'end');
  for (const topic of topics) {
    const text = messages.find((message) => message.topic === topic)?.text ?? '';
    expect(possible.get(topic), topic).toContain(text);
  }
});

test('a QoS 2 message that was acknowledged is delivered exactly once, across kill -9', async () => {
  const folder = temporaryFolder();
  let broker = await startBrokerProcess(folder);
  const session = { clientId: 'receiver', clean: false } as const;
  const receiver = await connectTo(broker.url, session);
  await receiver.subscribeAsync('exactly/#', { qos: 2 });
  await receiver.endAsync();

  const total = 300;
  // Its part of the session, as MQTT 5, 4.1 requires: otherwise a message could have the id of one that is in flight.
  const stores = { incomingStore: new Store({ clean: false }), outgoingStore: new Store({ clean: false }) };
  const connectSender = () => connectTo(broker.url, { clientId: 'sender', clean: false, ...stores });
  let sender = await connectSender();
  let next = 0;
  for (let round = 0; next < total; round += 1) {
    const { whileAlive } = broker;
    const publishing = (async () => {
      while (next < total) {
        // Without an acknowledgement this one is not counted. The next sender sends it again, and one of its own.
        const text = `${round}:${next}`;
        const sent = await whileAlive(sender.publishAsync('exactly/x', text, { qos: 2 }));
        if (!sent) return;
        next += 1;
      }
    })();
    if (round < ROUNDS / 2) {
      await delay(60 + Math.random() * 60);
      await broker.kill();
      sender.end(true);
      await publishing;
      broker = await startBrokerProcess(folder);
      sender = await connectSender();
    } else await publishing;
  }
  await sender.publishAsync('exactly/x', 'end', { qos: 2 });
  const { until } = collectFrom(broker.url, session);
  const seen = await until((messages) => messages.at(-1)?.text === 'end');
  const received = seen.map(({ text }) => text);
  expect(new Set(received).size).toBe(received.length);
  const numbers = new Set(received.map((text) => Number(text.split(':')[1])));
  expect(Array.from({ length: total }, (_, index) => index).filter((index) => !numbers.has(index))).toEqual([]);
});

const WILLS = [0, 1, 2] as const;

/** The wills of a killed broker, as a new subscriber and a session receive them at the next start. */
async function killedWithWills() {
  const folder = temporaryFolder();
  const broker = await startBrokerProcess(folder);
  const willOf = (qos: 0 | 1 | 2) => ({ topic: `will/${qos}`, payload: Buffer.from('gone'), qos, retain: true });
  await Promise.all(WILLS.map((qos) => connectTo(broker.url, { will: willOf(qos) })));
  // The will is on disk with the next thing that is acknowledged as durable.
  const watcher = await connectTo(broker.url, { clientId: 'watcher', clean: false });
  await watcher.subscribeAsync('will/+', { qos: 2 });
  await broker.kill();
  const again = await startBrokerProcess(folder);
  const reader = await connectTo(again.url);
  const { until } = collect(reader);
  await reader.subscribeAsync('will/+', { qos: 2 });
  const session = collectFrom(again.url, { clientId: 'watcher', clean: false });
  return [await until((seen) => seen.length === 3), await session.until((seen) => seen.length >= 2)] as const;
}

let wills: ReturnType<typeof killedWithWills> | undefined;

test.each(WILLS)(
  'a will is published with its QoS at the next start when the broker was killed, 3.1.2.6 (QoS %i)',
  async (qos) => {
    wills ??= killedWithWills();
    for (const received of (await wills).slice(0, qos === 0 ? 1 : 2))
      expect(received.find(({ topic }) => topic === `will/${qos}`)).toMatchObject({ text: 'gone', qos });
  },
);

test('a broker that fails reports it, and restarts on the same port with the data on disk', async () => {
  const states: string[] = [];
  let running = () => {};
  const restarted = new Promise<void>((resolve) => {
    running = resolve;
  });
  const broker = await startTestBroker({
    // Too small a heap for what follows.
    maxHeapMegabytes: 24,
    onState: (state) => {
      states.push(state);
      if (state === 'RUNNING' && states.includes('FAILED')) running();
    },
  });
  const port = broker.mqttPort;
  const url = `mqtt://127.0.0.1:${port}`;
  const device = await connectTo(url, { clientId: 'device', clean: false });
  await device.subscribeAsync('a', { qos: 1 });
  for (let round = 0; !states.includes('FAILED') && round < 50; round += 1) {
    const filters = Array.from({ length: 1_000 }, (_, index) => `fill/${round}/${index}/${'x'.repeat(10_000)}`);
    // One that connects in the moment of the failure hears of nothing any more.
    const glutton = await Promise.race([connectTo(url).catch(() => null), restarted]);
    await Promise.race([glutton?.subscribeAsync(filters).catch(() => null), restarted]);
  }
  await restarted;
  expect(states.slice(0, 3)).toEqual(['STARTING', 'RUNNING', 'FAILED']);
  expect(broker.mqttPort).toBe(port);
  const publisher = await connectTo(url);
  await publisher.publishAsync('a', 'kept', { qos: 1 });
  const { until } = collectFrom(url, { clientId: 'device', clean: false });
  expect((await until((seen) => seen.length > 0))[0]?.text).toBe('kept');
});

test('if the journal cannot be written, nothing is acknowledged, the reason is reported, and the broker retries', async () => {
  const folder = temporaryFolder();
  const before = await startTestBroker({ folder });
  const keeper = await connectTo(`mqtt://127.0.0.1:${before.mqttPort}`);
  await keeper.publishAsync('kept', 'before', { qos: 1, retain: true });
  await before.close();
  const db = new Database(join(folder, 'broker.sqlite'));
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON retained WHEN NEW.topic = 'too much'
    BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  db.close();

  const reasons: (string | undefined)[] = [];
  let running = () => {};
  const restarted = new Promise<void>((resolve) => {
    running = resolve;
  });
  const broker = await startTestBroker({
    folder,
    onState: (state, reason) => {
      if (state === 'FAILED') reasons.push(reason);
      if (state === 'RUNNING' && reasons.length > 0) running();
    },
  });
  const url = `mqtt://127.0.0.1:${broker.mqttPort}`;
  const publisher = await connectTo(url);
  const lost = new Promise<string>((resolve) => publisher.once('close', () => resolve('lost')));
  const answered = publisher.publishAsync('too much', 'x', { qos: 1, retain: true }).then(() => 'acknowledged');
  expect(await Promise.race([lost, answered.catch(() => lost)])).toBe('lost');
  await restarted;
  expect(reasons[0]).toContain('database or disk is full');
  const reader = await connectTo(url);
  const { until } = collect(reader);
  await reader.subscribeAsync('#');
  expect((await until((seen) => seen.length > 0))[0]?.text).toBe('before');
});
