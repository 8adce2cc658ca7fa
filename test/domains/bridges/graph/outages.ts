import type { MqttClient } from 'mqtt';
import { expect } from 'vitest';
import { startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { streamWorld } from '../../streams/stream-world.ts';

const FOLLOW = `subscription ($b: ID!) { bridgeStatus(brokerId: $b, bridgeId: "mqtt-bridge") {
  kind sequence isConnected connections { state isConnected since error }
} }`;

/** Milliseconds from a change at the broker to its event at a client of the graph. Negative: the event came first. */
interface Outages {
  /** Since the broker closed the connection of another client. */
  readonly untilLost: readonly number[];
  /** Since a message passed the bridge again, which is the first sign of it at the broker. */
  readonly untilBack: readonly number[];
}

/** Stops and starts the other broker of a bridge `times` times; asserts that `bridgeStatus` reports each change. */
export async function followOutages(times: number): Promise<Outages> {
  const world = await streamWorld('the embedded broker');
  const remote = await startMosquitto();
  const feed = world.follow(FOLLOW);
  await feed.until(({ bridgeStatus }) => bridgeStatus.isConnected);
  const topics = [{ pattern: 'outages/#', direction: 'out', qos: 1 }];
  const config = { connections: [{ name: 'hq', url: remote.url, topics }] };
  await world.change('updateBridgeConfig', { bridgeKey: 'mqtt-bridge', config });
  const told = async (isConnected: boolean) => {
    const { bridgeStatus } = await feed.until((data) => data.bridgeStatus.connections[0]?.isConnected === isConnected);
    return { ...bridgeStatus, at: performance.now() };
  };
  let last = await told(true);
  const publisher = await world.client();
  const untilLost: number[] = [];
  const untilBack: number[] = [];
  for (let time = 1; time <= times; time += 1) {
    const witness = await startClient(remote.url);
    const closed = timeOf(witness, 'close');
    const lost = told(false);
    await remote.stop();
    const down = await lost;
    expect(down).toMatchObject({ kind: 'CHANGE', isConnected: true });
    expect(down.connections[0].state).not.toBe('CONNECTED');
    expect(down.sequence).toBeGreaterThan(last.sequence);
    untilLost.push(down.at - (await closed));

    await publisher.publishAsync('outages/a', String(time), { qos: 1, retain: true });
    const back = told(true);
    await remote.start();
    const reader = await startClient(remote.url);
    const passed = timeOf(reader, 'message');
    await reader.subscribeAsync('outages/#', { qos: 1 });
    last = await back;
    expect(last).toMatchObject({ kind: 'CHANGE', connections: [{ state: 'CONNECTED', error: null }] });
    expect(last.sequence).toBeGreaterThan(down.sequence);
    expect(Date.parse(last.connections[0].since)).toBeGreaterThan(Date.parse(down.connections[0].since));
    untilBack.push(last.at - (await passed));
  }
  return { untilLost, untilBack };
}

const timeOf = (client: MqttClient, event: 'close' | 'message') =>
  new Promise<number>((resolve) => client.once(event, () => resolve(performance.now())));
