import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** CONNACK of MQTT 5: Server unavailable. */
const UNAVAILABLE = Buffer.from([0x20, 3, 0, 0x88, 0]);

/** A TCP proxy of a broker, which refuses connections until `isUp` is set. */
interface RefusingRelay {
  readonly url: string;
  isUp: boolean;
  /** Times of all connections, refused or not, in milliseconds. */
  readonly times: readonly number[];
  /** Resolves after `count` connections. */
  connections(count: number): Promise<void>;
}

export async function startRefusingRelay(port: number): Promise<RefusingRelay> {
  const times: number[] = [];
  const waiting = new Map<number, () => void>();
  const server = createServer((incoming) => {
    incoming.on('error', () => undefined);
    if (relay.isUp) {
      const outgoing = connect(port, '127.0.0.1').on('error', () => incoming.destroy());
      onTestFinished(() => void outgoing.destroy());
      incoming.pipe(outgoing).pipe(incoming);
    } else incoming.once('data', () => incoming.end(UNAVAILABLE));
    waiting.get(times.push(performance.now()))?.();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const relay: RefusingRelay = {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isUp: false,
    times,
    connections: (count) =>
      times.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.set(count, resolve)),
  };
  return relay;
}
