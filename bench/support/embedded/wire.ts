/** Connections of the load: raw sockets that count bytes; all packets of one connection have the same length. */
import { connect, type Socket } from 'node:net';
import type { Account } from '../frame-wire.ts';
import { connectPacket, subscribePacket } from './packets.ts';

const ACCEPTED = '20020000';
const READ_BYTES = 262_144;
const SUBACK_BYTES = 5;

/** Pause after each read. A reader that waits for each message would be woken by each write of the broker. */
const PAUSE_MS = 1;

export interface Wire {
  readonly socket: Socket;
  close(): void;
}

/** Resolves when CONNACK has arrived. What arrives later is passed to `received`, which must not keep it. */
export async function openWire(
  port: number,
  clientId: string,
  account: Account | null,
  received: (bytes: Buffer) => void,
  readBytes = READ_BYTES,
): Promise<Wire> {
  let isClosing = false;
  let admitted: ((connack: string) => void) | null = null;
  const connack = new Promise<string>((resolve) => {
    admitted = resolve;
  });
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  const callback = (length: number) => {
    const bytes = buffer.subarray(0, length);
    if (admitted) admitted(bytes.toString('hex'));
    else {
      received(bytes);
      setTimeout(() => socket.resume(), PAUSE_MS);
    }
    const isAdmitting = admitted !== null;
    admitted = null;
    return isAdmitting;
  };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (!isClosing) throw new Error(`The broker closed the connection ${clientId}`);
  });
  socket.write(connectPacket(clientId, account));
  const response = await connack;
  if (response !== ACCEPTED) throw new Error(`CONNACK ${response}`);
  const close = () => {
    isClosing = true;
    socket.destroy();
  };
  return { socket, close };
}

/** A connection with one topic filter. Nothing else may be sent to it before SUBACK. */
export async function openSubscriber(
  port: number,
  clientId: string,
  account: Account | null,
  filter: string,
  qos: 0 | 1,
  received: (bytes: Buffer, socket: Socket) => void,
  readBytes?: number,
): Promise<Wire> {
  let hasSuback = false;
  let ready = () => {};
  const receive = (bytes: Buffer) => {
    if (hasSuback) received(bytes, wire.socket);
    else {
      hasSuback = true;
      ready();
      if (bytes.length > SUBACK_BYTES) received(bytes.subarray(SUBACK_BYTES), wire.socket);
    }
  };
  const wire = await openWire(port, clientId, account, receive, readBytes);
  const subscribed = new Promise<void>((resolve) => {
    ready = resolve;
  });
  wire.socket.write(subscribePacket(filter, qos));
  await subscribed;
  return wire;
}
