import type { MqttClient } from 'mqtt';

/** How long the broker has to take our DISCONNECT before the socket is destroyed. */
const GRACE_MS = 500;

/**
 * Ends a client: a DISCONNECT if there is a connection, a destroyed socket otherwise. With MQTT 5 the session ends with it unless it is
 * to be kept; with 3.1.1 the CONNECT has said what becomes of it.
 */
export async function endClient(client: MqttClient, { keepSession = false } = {}): Promise<void> {
  // A client that is over still emits errors of its dying socket.
  client.on('error', () => undefined);
  client.stream.on('error', () => undefined);
  if (client.stream.destroyed || !client.connected) {
    await client.endAsync(true).catch(() => undefined);
    return;
  }
  const endsSession = client.options.protocolVersion === 5 && !keepSession;
  const timer = setTimeout(() => client.stream.destroy(), GRACE_MS);
  const closed = new Promise<void>((resolve) => client.stream.once('close', () => resolve()));
  client.outgoing = {};
  client.end(false, endsSession ? { properties: { sessionExpiryInterval: 0 } } : {});
  await closed;
  clearTimeout(timer);
}
