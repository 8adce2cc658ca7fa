/**
 * A process with MQTT clients that connect and disconnect at a steady rate. Runs as
 * `node mqtt-churn.js <port> <changes a second> <seconds>` with the password in MQTT_PASSWORD and an IPC channel. Sends
 * the number of changes that the broker has confirmed when the time is over. Each client leaves no session.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generate } from 'mqtt-packet';

const [port, rate, seconds] = process.argv.slice(2).map(Number) as [number, number, number];
const account = { username: 'admin', password: Buffer.from(process.env.MQTT_PASSWORD ?? '') };
const DISCONNECT = generate({ cmd: 'disconnect' });
/** Time between two groups of clients. */
const STEP_MS = 50;
/** A slow broker gets no more clients than this at the same time. */
const MAX_WAITING = 500;

let changes = 0;
let waiting = 0;
let number = 0;
const began = performance.now();
const due = () => ((performance.now() - began) / 1_000) * rate;
while (performance.now() - began < seconds * 1_000) {
  // Each client is two changes.
  while (number * 2 < due() && waiting < MAX_WAITING) void visit(number++);
  await delay(STEP_MS);
}
while (waiting > 0) await delay(STEP_MS);
process.send?.(changes);
process.disconnect();

async function visit(visitor: number): Promise<void> {
  waiting += 1;
  const socket = connect(port, '127.0.0.1');
  const clientId = `plant-${visitor % 40}/passing-${visitor}`;
  socket.write(generate({ cmd: 'connect', clientId, ...account, clean: true, keepalive: 0 }));
  await once(socket, 'data');
  changes += 1;
  const closed = once(socket, 'close');
  socket.end(DISCONNECT);
  await closed;
  changes += 1;
  waiting -= 1;
}
