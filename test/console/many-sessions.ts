import { once } from 'node:events';
import { connect } from 'node:net';
import { generate } from 'mqtt-packet';
import type { firstBroker } from './page.ts';

/** Sessions that are opened at the same time. */
const CONCURRENCY = 50;

/** Clients that leave persistent sessions, and disconnect. mqtt.js would take most of the test. */
export async function leaveSessions(broker: Awaited<ReturnType<typeof firstBroker>>, ids: readonly string[]) {
  const port = Number(new URL(broker.url).port);
  const account = { username: 'admin', password: Buffer.from(broker.password) };
  const waiting = [...ids];
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let clientId = waiting.pop(); clientId !== undefined; clientId = waiting.pop()) {
        const socket = connect(port, '127.0.0.1');
        socket.write(generate({ cmd: 'connect', clientId, clean: false, keepalive: 0, ...account }));
        await once(socket, 'data');
        socket.end(generate({ cmd: 'disconnect' }));
        await once(socket, 'close');
      }
    }),
  );
}
