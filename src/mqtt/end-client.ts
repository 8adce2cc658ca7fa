import type { MqttClient } from 'mqtt';

/** How long the broker has to take our DISCONNECT before the socket is destroyed. */
const GRACE_MS = 500;

/** Ends a client: a DISCONNECT that also ends the session if there is a connection, a destroyed socket otherwise. */
export async function endClient(client: MqttClient): Promise<void> {
  // A client that is over still emits errors of its dying socket.
  client.on('error', () => undefined);
  client.stream.on('error', () => undefined);
  if (client.stream.destroyed || !client.connected) {
    await client.endAsync(true).catch(() => undefined);
    return;
  }
  const isV5 = client.options.protocolVersion === 5;
  const timer = setTimeout(() => client.stream.destroy(), GRACE_MS);
  const closed = new Promise<void>((resolve) => client.stream.once('close', () => resolve()));
  client.outgoing = {};
  client.end(false, isV5 ? { properties: { sessionExpiryInterval: 0 } } : {});
  await closed;
  clearTimeout(timer);
}
