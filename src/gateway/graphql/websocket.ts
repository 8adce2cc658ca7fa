import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { handleProtocols } from 'graphql-ws';
import { WebSocketServer } from 'ws';
import type { TransportOptions } from './http.ts';
import { WebSocketConnection } from './live/web-socket-connection.ts';

const CLOSE_MS = 1_000;

/** graphql-transport-ws on the upgrade requests of the HTTP server. See WebSocketConnection. */
export class WebSocketTransport {
  readonly #options: TransportOptions;
  readonly #server: WebSocketServer;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: options.maxBodyBytes,
      handleProtocols: (protocols) => handleProtocols(protocols),
    });
  }

  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(req, socket, head, (opened) => new WebSocketConnection(this.#options, opened, req));
  }

  get connections(): number {
    return this.#server.clients.size;
  }

  /** Closes all connections, and terminates those whose client does not respond within CLOSE_MS. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const { clients } = this.#server;
    for (const client of clients) client.close(1001, 'Going away');
    const timer = setTimeout(() => {
      for (const client of clients) client.terminate();
    }, CLOSE_MS);
    await Promise.all([...clients].map((client) => new Promise((resolve) => client.once('close', resolve))));
    clearTimeout(timer);
    await closed;
  }
}
