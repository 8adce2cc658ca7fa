import { MqttClient } from 'mqtt';
import type { ConnectOptions } from './connect-options.ts';
import { openStream } from './open-stream.ts';

/** A client of mqtt.js over our own stream, which looks names up as the options say. Errors: see openStream. */
export function openClient(options: ConnectOptions): MqttClient {
  const client = new MqttClient(() => openStream(options), options);
  // Whoever it was opened for may be gone when it fails.
  client.on('error', () => undefined);
  return client;
}
