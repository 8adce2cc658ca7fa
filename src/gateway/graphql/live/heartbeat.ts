import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';

/** A client may pause for half a minute, for example a suspended laptop. */
const MAX_UNANSWERED = 3;

/**
 * Detects WebSocket clients that no longer read. A pong must repeat the payload of a ping (RFC 6455 5.5.3), which is
 * random: a pong alone does not show that a client reads.
 */
export class Heartbeat {
  readonly #socket: WebSocket;
  #unanswered: string[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('pong', (data) => {
      const index = this.#unanswered.indexOf(String(data));
      // A client may respond to several pings with one pong, to the last of them.
      if (index >= 0) this.#unanswered = this.#unanswered.slice(index + 1);
    });
  }

  /** Sends a ping, or terminates the socket if MAX_UNANSWERED pings have no pong. */
  beat(): void {
    const socket = this.#socket;
    if (this.#unanswered.length >= MAX_UNANSWERED) {
      socket.terminate();
    } else if (socket.readyState === socket.OPEN) {
      const ping = randomUUID();
      this.#unanswered.push(ping);
      socket.ping(ping);
    }
  }
}
