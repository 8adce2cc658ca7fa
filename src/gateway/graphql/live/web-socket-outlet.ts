import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ResultText } from './result-text.ts';
import { textFrameHead } from './text-frame.ts';

/** More than this waiting to be sent: subscriptions write no more until the socket has taken nearly all of it. In bytes. */
const HIGH_MARK = 65_536;
const LOW_MARK = 16_384;

/**
 * What all subscriptions of one WebSocket write to, as messages of graphql-transport-ws; each in its turn.
 *
 * Frames go past `ws` to its connection, as strings of bytes: `ws` makes a buffer for each head and a write of each part, and Node
 * copies a string to the kernel without a buffer. `ws` writes its own frames whole and at once, since nothing is compressed, so
 * ours come between them.
 */
export class WebSocketOutlet {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  #waiting: (() => void)[] = [];
  /** Frames that are not written yet. */
  #unwritten = '';

  constructor(socket: WebSocket, connection: Duplex) {
    this.#socket = socket;
    this.#connection = connection;
    connection.on('drain', this.drained);
  }

  get isReady(): boolean {
    return this.#connection.writableLength < HIGH_MARK && this.#isOpen;
  }

  whenReady(wake: () => void): void {
    this.#waiting.push(wake);
  }

  /** `prefix`: from the brace to the payload, as a string of bytes. `flush` has to follow in the same turn of the event loop. */
  next(prefix: string, result: ResultText): void {
    if (result.isLarge) {
      this.#nextLarge(prefix, result.bytes);
      return;
    }
    const { binary } = result;
    this.#unwritten += `${textFrameHead(prefix.length + binary.length + 1)}${prefix}${binary}}`;
    if (this.#unwritten.length > LOW_MARK) this.flush();
  }

  /** What came since the last time goes out in one piece. */
  flush(): void {
    if (this.#unwritten === '') return;
    // After a close frame nothing may follow.
    if (this.#isOpen) this.#connection.write(this.#unwritten, 'latin1');
    this.#unwritten = '';
  }

  /** To be called now and then: control frames fill the socket without a word. */
  readonly drained = (): void => {
    if (this.#waiting.length === 0 || this.#connection.writableLength > LOW_MARK) return;
    // Who is woken writes until there is enough again, and then waits behind the others.
    while (this.isReady) {
      const wake = this.#waiting.shift();
      if (wake === undefined) return;
      wake();
    }
  };

  /** The bytes stay the same memory for everybody. */
  #nextLarge(prefix: string, bytes: Buffer): void {
    this.flush();
    if (!this.#isOpen) return;
    const connection = this.#connection;
    connection.cork();
    connection.write(`${textFrameHead(prefix.length + bytes.length + 1)}${prefix}`, 'latin1');
    connection.write(bytes);
    connection.write('}', 'latin1');
    connection.uncork();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }
}
