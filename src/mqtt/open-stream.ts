import { isIP, connect as openTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as openTls } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import type { ConnectOptions } from './connect-options.ts';

/** The bare byte stream to a broker by the options of `connectOptions`: what is written before it is open is sent then. */
export function openStream({ protocol, hostname = '', port = 0, path = '/', ...options }: ConnectOptions): Duplex {
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
    return createWebSocketStream(
      new WebSocket(`${protocol}://${host}:${port}${path}`, 'mqtt', { ...secrets, ...found }),
    );
  }
  if (protocol === 'mqtts') {
    const name = isIP(hostname) === 0 ? { servername: hostname } : {};
    return openTls({ host: hostname, port, ...name, ...secrets, ...found }).setNoDelay(true);
  }
  return openTcp({ host: hostname, port, noDelay: true, ...found });
}
