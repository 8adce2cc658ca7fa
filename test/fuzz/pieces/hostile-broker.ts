import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';

/**
 * A broker that behaves correctly until the service publishes to `topic`, or has subscribed to it, and then sends
 * `bytes`. `read` resolves when the service has acknowledged a message behind the bytes, or has closed the connection.
 */
export async function startHostileBroker(protocolVersion: 4 | 5, topic: string, bytes: Buffer) {
  let acknowledged = () => {};
  const read = new Promise<void>((resolve) => {
    acknowledged = resolve;
  });
  const server = createServer((socket) => {
    const packets = parser();
    let isHostile = false;
    const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion }));
    const attack = (isDue: boolean) => {
      if (isHostile || !isDue) return;
      isHostile = true;
      socket.write(bytes);
      const last = { topic: '$SYS/pieces', payload: '', messageId: 1, dup: false, retain: false } as const;
      send({ cmd: 'publish', qos: 1, ...last });
    };
    socket.on('error', () => {});
    socket.on('data', (data) => packets.parse(data));
    socket.once('close', acknowledged);
    packets.on('error', () => socket.destroy());
    packets.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        // The service tries the next version then.
        const isRefused = packet.protocolVersion !== protocolVersion;
        send({
          cmd: 'connack',
          returnCode: isRefused ? 1 : 0,
          reasonCode: isRefused ? 0x84 : 0,
          sessionPresent: false,
        });
      }
      if (packet.cmd === 'puback') acknowledged();
      if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
      if (packet.cmd === 'publish') {
        if (packet.qos === 1) send({ cmd: 'puback', messageId: packet.messageId ?? 1 });
        attack(packet.topic === topic);
      }
      if (packet.cmd !== 'subscribe') return;
      send({ cmd: 'suback', messageId: packet.messageId ?? 1, granted: packet.subscriptions.map(() => 0) });
      attack(packet.subscriptions.some((subscription) => subscription.topic === topic));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, read, close: () => server.close() };
}
