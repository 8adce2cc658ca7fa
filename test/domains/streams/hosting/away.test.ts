import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../support/database.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker, worldOf } from '../stream-world.ts';

const LIST = 'query ($b: ID!) { broker(id: $b) { streams { nodes { name state } } } }';

test('streams of a broker that is not connected since the start can be listed and created, and run once it is connected', async () => {
  const broker = await startMosquitto();
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const id = await addBroker(first, broker.url);
  await worldOf(first, id, broker.url, {}).change('createStream', { name: 'kept', sourceTopic: 'in', persist: true });
  await first.close();
  await broker.stop();

  const databaseUrl = first.config.databaseUrl;
  const second = await startTestService({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  const { graph, change, client } = worldOf(second, id, broker.url, {});
  // The first attempt to connect is waited for.
  const list = () => graph(LIST).then(({ broker: { streams } }) => streams.nodes, String);
  await expect.poll(list).toEqual([{ name: 'kept', state: 'WAITING' }]);
  await change('createStream', { name: 'another', sourceTopic: 'in', targetTopic: 'out' });

  await broker.start();
  const running = ['another', 'kept'].map((name) => ({ name, state: 'RUNNING' }));
  await expect.poll(list).toEqual(expect.arrayContaining(running));
  const heard: string[] = [];
  const mqtt = await client();
  mqtt.on('message', (topic) => heard.push(topic));
  await mqtt.subscribeAsync('out');
  await mqtt.publishAsync('in', '{"a":1}');
  await expect.poll(() => heard).toEqual(['out']);
});
