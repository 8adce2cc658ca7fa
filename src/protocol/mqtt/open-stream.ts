import { isIP, connect as openTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as openTls } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import type { ConnectOptions } from './connect-options.ts';

/** Longest WebSocket frame: a packet, and others that a broker sends together with it. */
const FRAME_SLACK = 65_536;

/**
 * The bare byte stream to a broker by the options of `connectOptions`: what is written before it is open is sent then.
 *
 * `maxPacketBytes`: bounds one message of a WebSocket. `onFrameBytes`: reports how many bytes of a WebSocket message have come that is
 * not complete.
 */
export function openStream(
  { protocol, hostname = '', port = 0, path = '/', ...options }: ConnectOptions,
  maxPacketBytes: number,
  onFrameBytes: (bytes: number) => void,
): Duplex {
  const { rejectUnauthorized, ca, cert, key, lookup } = options;
  const found = lookup === undefined ? {} : { lookup };
  const secrets = {
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  if (protocol === 'ws' || protocol === 'wss') {
    const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
    const bounds = { maxPayload: maxPacketBytes + FRAME_SLACK };
    const socket = new WebSocket(`${protocol}://${host}:${port}${path}`, 'mqtt', { ...secrets, ...found, ...bounds });
    countFrameBytes(socket, onFrameBytes);
    return createWebSocketStream(socket);
  }
  if (protocol === 'mqtts') {
    const name = isIP(hostname) === 0 ? { servername: hostname } : {};
    return openTls({ host: hostname, port, ...name, ...secrets, ...found }).setNoDelay(true);
  }
  return openTcp({ host: hostname, port, noDelay: true, ...found });
}

function countFrameBytes(socket: WebSocket, onFrameBytes: (bytes: number) => void): void {
  let bytes = 0;
  socket.once('upgrade', ({ socket: tcp }) => {
    socket.once('open', () => {
      // Before ws reads it: a message that it completes is reported behind its bytes.
      tcp.prependListener('data', (chunk: Buffer) => {
        bytes += chunk.length;
        onFrameBytes(bytes);
      });
    });
  });
  socket.on('message', () => {
    bytes = 0;
    onFrameBytes(0);
  });
}
