import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP proxy of a port of this machine, which can close connections independently of the server. */
interface Relay {
  readonly url: string;
  /** Closes all connections. New connections are accepted. */
  cut(): void;
  /** Closes all connections and the port. */
  stop(): void;
}

interface RelayOptions {
  /** The port of the proxy. Default: any. */
  readonly at?: number;
  /** Whether a connection that begins with these bytes becomes silent: its client's other bytes are not passed on. */
  readonly isSilent?: (first: Buffer) => boolean;
  /** Called with the bytes of the server before they are passed on. They are dropped if it returns false. */
  readonly passes?: (bytes: Buffer) => boolean;
  /** By how many milliseconds the bytes of the server are late, in their order. Default: 0. */
  readonly delayMs?: () => number;
}

export async function startRelay(
  port: number,
  { at = 0, isSilent = () => false, passes, delayMs }: RelayOptions = {},
): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    const outgoing = connect(port, '127.0.0.1');
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        incoming.destroy();
        outgoing.destroy();
      });
    }
    incoming.once('data', (first) => {
      outgoing.write(first);
      if (isSilent(first)) incoming.resume();
      else incoming.pipe(outgoing);
    });
    if (delayMs) {
      let dueAt = 0;
      outgoing.on('data', (bytes: Buffer) => {
        const now = performance.now();
        dueAt = Math.max(dueAt, now + delayMs());
        setTimeout(() => incoming.write(bytes), dueAt - now);
      });
    } else if (passes) outgoing.on('data', (bytes: Buffer) => void (passes(bytes) && incoming.write(bytes)));
    else outgoing.pipe(incoming);
  }).listen(at, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = () => {
    server.close();
    cut();
  };
  onTestFinished(stop);
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, stop };
}
