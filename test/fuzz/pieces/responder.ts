import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A server that responds to the first bytes of each connection with the current bytes, whatever was requested. */
export class Responder {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #bytes: Buffer = Buffer.alloc(0);
  #served: () => void = () => {};

  private constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#served();
      });
      socket.once('data', () => socket.end(this.#bytes));
      socket.resume();
    });
  }

  static async start(): Promise<Responder> {
    const responder = new Responder();
    responder.#server.listen(0, '127.0.0.1');
    await once(responder.#server, 'listening');
    return responder;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sets the response. Resolves when a connection that got it is closed. */
  respond(bytes: Buffer): Promise<void> {
    this.#bytes = bytes;
    return new Promise((resolve) => {
      this.#served = resolve;
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
