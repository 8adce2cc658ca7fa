import type { ClientRequest } from 'node:http';
import { isIP, connect as openTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as openTls } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import { boundInterim } from '../../platform/network/http-bounds.ts';
import { OUTGOING_TLS } from '../../platform/network/outgoing-tls.ts';
import { keepCertificate } from '../../platform/network/tls-failure.ts';
import { withoutNulls } from '../../platform/without-nulls.ts';
import type { ConnectOptions } from './connect-options.ts';

/** Each given certificate is trusted by itself, also that of an intermediate authority without its root. */
const ANY_AUTHORITY = { allowPartialTrustChain: true } as const;
/** For further packets in the same WebSocket message. */
const FRAME_SLACK = 65_536;

/**
 * Opens the byte stream to a broker. Data that is written before it is open is sent later.
 *
 * `maxPacketBytes` limits WebSocket messages. `onFrameBytes` reports the received bytes of an incomplete one.
 */
export function openStream(
  { protocol, hostname = '', port = 0, path = '/', ...options }: ConnectOptions,
  maxPacketBytes: number,
  onFrameBytes: (bytes: number) => void,
): Duplex {
  const { rejectUnauthorized, ca, cert, key, lookup } = options;
  const resolver = withoutNulls({ lookup });
  const material = withoutNulls({ rejectUnauthorized, ca, cert, key });
  const tls = { ...OUTGOING_TLS, ...material, ...(ca === undefined ? {} : ANY_AUTHORITY) };
  if (protocol === 'ws' || protocol === 'wss') {
    const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
    // `onFrameBytes` counts bytes as they arrive: compressed ones would need a thousand times the memory.
    const bounds = { maxPayload: maxPacketBytes + FRAME_SLACK, perMessageDeflate: false };
    const finishRequest = (request: ClientRequest) => {
      boundInterim(request);
      request.on('socket', keepCertificate).end();
    };
    const url = `${protocol}://${host}:${port}${path}`;
    const socket = new WebSocket(url, 'mqtt', { ...tls, ...resolver, ...bounds, finishRequest });
    countFrameBytes(socket, onFrameBytes);
    return createWebSocketStream(socket);
  }
  if (protocol === 'mqtts') {
    const name = isIP(hostname) === 0 ? { servername: hostname } : {};
    const socket = openTls({ host: hostname, port, ...name, ...tls, ...resolver }).setNoDelay(true);
    keepCertificate(socket);
    return socket;
  }
  return openTcp({ host: hostname, port, noDelay: true, ...resolver });
}

function countFrameBytes(socket: WebSocket, onFrameBytes: (bytes: number) => void): void {
  let bytes = 0;
  socket.once('upgrade', ({ socket: tcp }) => {
    socket.once('open', () => {
      // Before the listener of ws, so that a message is reported after its bytes.
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
