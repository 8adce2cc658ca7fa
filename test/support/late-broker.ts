import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { onTestFinished } from 'vitest';

/**
 * An MQTT 5 broker that sends CONNACK only when `respond` is called, and from then on in the next turn of the event
 * loop. It grants subscriptions and sends no message.
 */
export async function startLateBroker() {
  const waiting = new Set<() => void>();
  const connected = new Set<Socket>();
  let attemptCount = 0;
  let mostWaiting = 0;
  let isLate = true;
  const server = createServer((socket) => {
    const packets = parser();
    const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion: 5 }));
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => packets.parse(data));
    packets.on('packet', (packet) => {
      const messageId = packet.messageId ?? 0;
      if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
      if (packet.cmd === 'publish' && packet.qos === 1) send({ cmd: 'puback', messageId, reasonCode: 0x10 });
      if (packet.cmd === 'subscribe') send({ cmd: 'suback', messageId, granted: packet.subscriptions.map(() => 0) });
      if (packet.cmd !== 'connect') return;
      const respond = () => {
        waiting.delete(respond);
        // BrokerSession.knock needs no connection that lasts.
        if (!packet.clientId.endsWith('-probe')) connected.add(socket);
        send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
      };
      waiting.add(respond);
      if (!packet.clientId.endsWith('-probe')) attemptCount += 1;
      mostWaiting = Math.max(mostWaiting, waiting.size);
      if (!isLate) setImmediate(respond);
    });
    socket.on('close', () => connected.delete(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `mqtt://127.0.0.1:${port}`,
    /** Connections without CONNACK. */
    waitingCount: () => waiting.size,
    mostWaiting: () => mostWaiting,
    connectedCount: () => connected.size,
    attemptCount: () => attemptCount,
    respond: () => {
      isLate = false;
      for (const respond of [...waiting]) respond();
    },
    cut: () => {
      for (const socket of connected) socket.destroy();
    },
  };
}
