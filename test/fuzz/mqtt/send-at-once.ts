import { Socket } from 'node:net';
import type { MqttClient } from 'mqtt';

/** mqtt.js 5 uses Nagle's algorithm: a PUBLISH behind a PUBACK waits 40 ms for the TCP acknowledgement. */
export function sendAtOnce(client: MqttClient): void {
  const setNoDelay = () => {
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
  };
  if (client.connected) setNoDelay();
  client.on('connect', setNoDelay);
}
