import type { WebSocket } from 'ws';
import type { ResultText } from './result-text.ts';

/** More than this waiting to be sent: subscriptions write no more until the socket has taken nearly all of it. In bytes. */
const HIGH_MARK = 65_536;
const LOW_MARK = 16_384;

/** What all subscriptions of one WebSocket write to, as frames of graphql-transport-ws; each in its turn. */
export class WebSocketOutlet {
  readonly #socket: WebSocket;
  #waiting: (() => void)[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get isReady(): boolean {
    return this.#socket.bufferedAmount < HIGH_MARK && this.#socket.readyState === this.#socket.OPEN;
  }

  whenReady(wake: () => void): void {
    this.#waiting.push(wake);
  }

  /** `prefix`: from the brace to the payload. */
  next(prefix: string, result: ResultText): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    if (!result.isLarge) {
      socket.send(`${prefix}${result.text}}`, this.drained);
      return;
    }
    // One message in three fragments (RFC 6455 5.4), so that the middle one is the same memory for everybody.
    socket.send(prefix, { fin: false });
    socket.send(result.bytes, { fin: false });
    socket.send('}', { fin: true }, this.drained);
  }

  /** To be called when something was sent, and now and then: control frames fill the socket without a word. */
  readonly drained = (): void => {
    if (this.#waiting.length === 0 || this.#socket.bufferedAmount > LOW_MARK) return;
    // Who is woken writes until there is enough again, and then waits behind the others.
    while (this.isReady) {
      const wake = this.#waiting.shift();
      if (wake === undefined) return;
      wake();
    }
  };
}
