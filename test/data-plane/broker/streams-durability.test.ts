import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { collect, connect, startTestBroker } from './embedded.ts';
import { storedCount, streamDone } from './streams.ts';

const ROUNDS = 5;

/** Texts of what a stream stored, in order. */
async function replayed(client: MqttClient, streamname: string): Promise<string[]> {
  const count = await storedCount(client, streamname);
  const topic = `replay/${streamname}`;
  const { messages, until } = collect(client);
  await client.subscribeAsync(topic, { qos: 0 });
  await streamDone(client, 'replayStream', { streamname, replaytopic: topic, speed: 'fastest' });
  const ofReplay = () => messages.filter((message) => message.topic === topic).map(({ text }) => text);
  await until(() => ofReplay().length >= count);
  return ofReplay();
}

test('kill -9 at random times: streams survive with all acknowledged messages in order, and the wills', async () => {
  const folder = temporaryFolder();
  const acknowledged: string[][] = [[], []];
  let process = await startBrokerProcess(folder);
  let admin = await connect(process.port);
  const passing = { process: false, persist: true, targetqos: 0 };
  await streamDone(admin, 'createStream', { ...passing, streamname: 's1', sourcetopic: 'in/+', targettopic: 'next' });
  await streamDone(admin, 'createStream', { ...passing, streamname: 's2', sourcetopic: 'next' });
  await streamDone(admin, 'createStream', { ...passing, streamname: 'wills', sourcetopic: 'will' });
  await streamDone(admin, 'createStream', { ...passing, streamname: 'gone', sourcetopic: 'in/#' });
  for (let round = 0; round < ROUNDS; round += 1) {
    const { port, whileAlive } = process;
    const will = { topic: 'will', payload: Buffer.from(`gone ${round}`), qos: 1, retain: false } as const;
    await connect(port, { clientId: 'leaving', will });
    let inFlight = () => {};
    const enough = new Promise<void>((resolve) => {
      inFlight = resolve;
    });
    // Several at a time, so that some are always on their way when the broker ends.
    const publishing = [1, 2].flatMap((qos) =>
      [0, 1, 2, 3].map(async (lane) => {
        // One that connects in the moment of the kill hears of nothing any more.
        const publisher = await whileAlive(connect(port, { clientId: `publisher-${qos}-${lane}`, clean: false }));
        if (!publisher) return;
        for (let index = 0; ; index += 1) {
          const text = `${round}-${qos}-${lane}-${String(index).padStart(5, '0')}`;
          const sent = await whileAlive(publisher.publishAsync(`in/${lane}`, text, { qos: qos as 1 | 2 }));
          if (!sent) return;
          acknowledged[qos - 1]?.push(text);
          if (index >= 3 + Math.random() * 10) inFlight();
        }
      }),
    );
    await enough;
    if (round === 0) await streamDone(admin, 'deleteStream', { streamname: 'gone' });
    await process.kill();
    admin.end(true);
    await Promise.all(publishing);
    process = await startBrokerProcess(folder);
    admin = await connect(process.port);
  }
  const sent = acknowledged.flat();
  expect(new Set(sent.map((text) => text[0])).size).toBe(ROUNDS);
  for (const streamname of ['s1', 's2']) {
    const stored = await replayed(admin, streamname);
    const known = new Set(stored);
    expect(sent.filter((text) => !known.has(text))).toEqual([]);
    for (const prefix of new Set(stored.map((text) => text.slice(0, 6)))) {
      const lane = stored.filter((text) => text.startsWith(prefix));
      expect([...new Set(lane)]).toEqual([...new Set(lane)].sort());
    }
  }
  // Those who were connected when it ended left a will each time.
  expect(await replayed(admin, 'wills')).toEqual(Array.from({ length: ROUNDS }, (_, round) => `gone ${round}`));
  expect(await streamDone(admin, 'listStreams')).toEqual({ totalCount: 3, streams: ['s1', 's2', 'wills'] });
});

test("a slow subscriber of a stream's target slows down the publishers of the stream, and no others", async () => {
  const failed: string[] = [];
  const { mqttPort } = await startTestBroker({
    onState: (state) => void (state === 'FAILED' && failed.push(state)),
  });
  const admin = await connect(mqttPort);
  await streamDone(admin, 'createStream', {
    streamname: 'busy',
    sourcetopic: 'busy',
    targettopic: 'slow',
    process: false,
  });
  const slow = await connect(mqttPort);
  await slow.subscribeAsync('slow');
  slow.stream.pause();
  const publisher = await connect(mqttPort);
  const payload = Buffer.alloc(50_000, 'x');
  let acknowledged = 0;
  const total = 600;
  const publishing = (async () => {
    const under = new Set<Promise<unknown>>();
    for (let index = 0; index < total; index += 1) {
      const sent = publisher.publishAsync('busy', payload, { qos: 1 }).then(() => {
        acknowledged += 1;
        under.delete(sent);
      });
      under.add(sent);
      if (under.size >= 20) await Promise.race(under);
    }
    await Promise.all(under);
  })();
  for (let round = 0; round < 100; round += 1) await admin.publishAsync('other', String(round), { qos: 1 });
  const early = acknowledged;
  expect(early).toBeLessThan(total);
  slow.stream.resume();
  await publishing;
  expect(acknowledged).toBe(total);
  expect(failed).toEqual([]);
});
