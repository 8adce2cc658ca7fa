import { expect } from 'vitest';
import { Numbers } from './numbers.ts';
import type { ServiceOnHost } from './service-on-host.ts';
import type { StreamedBroker } from './stream-traffic.ts';

const CONFIGURE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const STATUS = 'query ($id: ID!) { broker(id: $id) { bridge(key: "mqtt-bridge") { connections { state } } } }';

/** Bridges `bridge/#` of one broker to `bridged/#` of the other one, and sends numbers through it. */
export async function startBridge(
  service: ServiceOnHost,
  from: StreamedBroker,
  to: StreamedBroker,
  periodMs?: number,
): Promise<Numbers> {
  const topics = [{ pattern: '#', direction: 'out', qos: 1, localPrefix: 'bridge/', remotePrefix: 'bridged/' }];
  const config = { connections: [{ name: 'next', url: to.broker.url, topics }] };
  await service.graphql(CONFIGURE, { input: { brokerId: from.id, bridgeKey: 'mqtt-bridge', config } });
  await expect.poll(() => bridgeState(service, from)).toBe('CONNECTED');
  return Numbers.start({
    from: { url: from.broker.url, topic: 'bridge/a' },
    to: { url: to.broker.url, topic: 'bridged/a' },
    ...(periodMs !== undefined && { periodMs }),
  });
}

/** The state of the connection of the bridge, as a process reports it, or the error. */
export const bridgeState = (service: ServiceOnHost, { id }: StreamedBroker): Promise<string> =>
  service.graphql(STATUS, { id }).then(
    ({ broker }) => broker.bridge?.connections?.[0]?.state ?? 'NONE',
    (error: Error) => error.message,
  );
