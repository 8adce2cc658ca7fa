import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Hold } from '../../../platform/limits/byte-budget.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { yieldToEventLoop } from '../../../platform/scheduling/sliced-task.ts';
import { MAX_ANONYMOUS_BODY_BYTES, PIECE_BYTES, type Traffic, UNCOUNTED_BYTES } from '../../http/traffic.ts';

/** Beyond this number of unsent bytes the socket is not read, no operation starts and no started query executes. */
const MAX_UNSENT_BYTES = 1_048_576;
/** Fewer bytes of query results are not counted: the buffers of the operating system hold them. */
const UNCOUNTED_UNSENT_BYTES = 65_536;

/** Close codes of the IANA registry (RFC 6455 7.4.1). */
const TOO_BIG = 1009;
const TRY_AGAIN_LATER = 1013;

interface WebSocketFlowOptions {
  readonly socket: WebSocket;
  readonly req: IncomingMessage;
  readonly traffic: Traffic;
  /** The caller with valid credentials. `null` if there are none, which makes the maximum message smaller. */
  readonly viewer: () => { readonly id: string } | null;
  /** Handles a message. Resolves when the operation that it started is complete. Never rejects. */
  readonly handle: (text: string) => Promise<void>;
}

/**
 * Flow control of one WebSocket, in both directions.
 *
 * Messages are handled one after the other. The socket is not read while a message waits or the client does not
 * receive. Bytes of messages count until the operation is complete, results of queries until the client has received
 * them. Beyond a budget the socket is closed: with 1013 for received bytes, immediately for unsent bytes.
 */
export class WebSocketFlow {
  readonly #options: WebSocketFlowOptions;
  readonly #connection: Duplex;
  readonly #network: string;
  readonly #waiting: Buffer[] = [];
  readonly #queries = new ConcurrencyLimit({ maxRunning: 1 });
  #waitingBytes = 0;
  #runningBytes = 0;
  #unsentBytes = 0;
  #isStarting = false;
  #received: Hold | null = null;
  #unsent: Hold | null = null;

  constructor(options: WebSocketFlowOptions) {
    const { socket, req, traffic } = options;
    this.#options = options;
    this.#connection = req.socket;
    this.#network = traffic.networkOf(req);
    socket.on('message', (data) => this.#receive(data as Buffer));
    // ws registered its listener before and has handled the chunk by now.
    req.socket.on('data', () => this.#arrived());
    req.socket.on('drain', () => this.#proceed());
    socket.once('close', () => {
      this.#clear();
      this.#received?.release();
      this.#unsent?.release();
    });
  }

  /** Resolves when the message is written to the connection, or the connection is closed. */
  send(text: string): Promise<void> {
    const { socket } = this.#options;
    return new Promise((resolve) => {
      if (socket.readyState !== socket.OPEN) {
        setImmediate(resolve);
        return;
      }
      this.#countUnsent(text.length);
      socket.send(text, () => {
        this.#countUnsent(-text.length);
        resolve();
      });
    });
  }

  /**
   * Resolves when a prepared query may execute: the client receives, and the results of earlier queries count. Queries
   * are prepared at the same time, so a check at their start does not bound their results.
   */
  readonly queryTurn = (): Promise<void> =>
    this.#queries.run(async () => {
      await new Promise<void>(yieldToEventLoop);
      while (this.#isBehind) await new Promise((resolve) => this.#connection.once('drain', resolve));
    });

  #receive(data: Buffer): void {
    if (this.#options.viewer() === null && data.length > MAX_ANONYMOUS_BODY_BYTES) {
      this.#options.socket.close(TOO_BIG, 'Sign in to send larger messages');
      return;
    }
    this.#waiting.push(data);
    this.#waitingBytes += data.length;
    this.#proceed();
  }

  #arrived(): void {
    const { socket, viewer } = this.#options;
    if (this.#countReceived() && viewer() === null && this.#partialBytes > MAX_ANONYMOUS_BODY_BYTES) {
      socket.close(TOO_BIG, 'Sign in to send larger messages');
      socket.terminate();
    } else this.#pace();
  }

  #proceed(): void {
    const { socket, traffic, viewer, handle } = this.#options;
    if (!this.#isStarting && !this.#isBehind && this.#waiting.length > 0) {
      this.#isStarting = true;
      const start = () => {
        const data = this.#waiting.shift();
        if (data === undefined) return;
        const { length } = data;
        this.#waitingBytes -= length;
        this.#runningBytes += length;
        void handle(String(data)).finally(() => {
          this.#runningBytes -= length;
          this.#countReceived();
        });
      };
      const started = () => {
        this.#isStarting = false;
        this.#proceed();
      };
      // Clients reconnect after this code. Nothing happens if the operation was refused because the socket is closing.
      const refused = ({ message }: Error) => {
        this.#clear();
        socket.close(TRY_AGAIN_LATER, message);
      };
      const caller = { viewer: viewer(), address: this.#network };
      traffic.starts.run(caller, start, () => socket.readyState === socket.OPEN).then(started, refused);
    }
    this.#pace();
  }

  #clear(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  get #isBehind(): boolean {
    return this.#connection.writableLength > MAX_UNSENT_BYTES;
  }

  #pace(): void {
    const { socket } = this.#options;
    const shallPause = this.#waiting.length > 0 || this.#isBehind;
    if (shallPause === socket.isPaused) return;
    if (shallPause) socket.pause();
    else socket.resume();
  }

  /** Bytes of an incomplete message, from private fields of ws 8.23, which has no public API for them. */
  get #partialBytes(): number {
    const { _receiver: receiver } = this.#options.socket as unknown as { readonly _receiver?: Receiver };
    if (receiver === undefined) return 0;
    const { _bufferedBytes, _messageLength, _buffers, _fragments } = receiver;
    return _bufferedBytes + _messageLength + (_buffers.length + _fragments.length) * PIECE_BYTES;
  }

  /** Returns whether the budget has room; if not, the socket is closed. */
  #countReceived(): boolean {
    const { socket, traffic } = this.#options;
    const bytes = this.#partialBytes + this.#waitingBytes + this.#runningBytes;
    const counted = bytes > UNCOUNTED_BYTES ? bytes : 0;
    if (counted === 0 && this.#received === null) return true;
    const refuse = () => {
      socket.close(TRY_AGAIN_LATER, 'Too many bytes of requests are in progress');
      socket.terminate();
    };
    this.#received ??= traffic.requests.hold(this.#network, refuse);
    if (this.#received.resize(counted)) return true;
    refuse();
    return false;
  }

  #countUnsent(bytes: number): void {
    const { socket, traffic } = this.#options;
    this.#unsentBytes += bytes;
    const counted = this.#unsentBytes > UNCOUNTED_UNSENT_BYTES ? this.#unsentBytes : 0;
    if (counted === 0 && this.#unsent === null) return;
    this.#unsent ??= traffic.responses.hold(this.#network, () => socket.terminate());
    if (!this.#unsent.resize(counted)) socket.terminate();
  }
}

interface Receiver {
  readonly _bufferedBytes: number;
  readonly _messageLength: number;
  readonly _buffers: readonly Buffer[];
  readonly _fragments: readonly Buffer[];
}
