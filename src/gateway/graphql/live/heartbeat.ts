import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';

/** A reader may stand still for half a minute, as a suspended laptop does, and go on. */
const SILENT_PINGS = 3;

/**
 * Whether anybody reads a WebSocket. A pong has to repeat a ping that waits for one (RFC 6455 5.5.3), which nobody can guess: clients
 * may send pongs unasked, and one that reads nothing would be taken for a reader.
 */
export class Heartbeat {
  readonly #socket: WebSocket;
  #unanswered: string[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('pong', (data) => {
      const place = this.#unanswered.indexOf(String(data));
      // Pings that came together may be answered by one pong, to the last of them.
      if (place >= 0) this.#unanswered = this.#unanswered.slice(place + 1);
    });
  }

  /** Pings; cuts a socket that has left SILENT_PINGS unanswered. */
  beat(): void {
    const socket = this.#socket;
    if (this.#unanswered.length >= SILENT_PINGS) {
      socket.terminate();
    } else if (socket.readyState === socket.OPEN) {
      const ping = randomUUID();
      this.#unanswered.push(ping);
      socket.ping(ping);
    }
  }
}
