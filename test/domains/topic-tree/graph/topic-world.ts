import type { MqttClient } from 'mqtt';
import type { StreamWorld } from '../../streams/stream-world.ts';

const COUNT = 'subscription ($b: ID!, $prefix: String) { topics(brokerId: $b, prefix: $prefix) { count } }';

/** Resolves when so many topics are listed; begins the recording. */
export async function listed(world: StreamWorld, count: number): Promise<void> {
  const feed = world.follow(COUNT);
  await feed.until(({ topics }) => topics.count !== null && topics.count >= count);
  feed.end();
}

/** One message each. */
export async function publishAll(client: MqttClient, topics: Readonly<Record<string, string | Buffer>>): Promise<void> {
  await Promise.all(Object.entries(topics).map(([topic, payload]) => client.publishAsync(topic, payload, { qos: 1 })));
}
