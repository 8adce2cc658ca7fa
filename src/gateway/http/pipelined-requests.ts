import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Hold } from '../../platform/limits/byte-budget.ts';
import type { Traffic } from './traffic.ts';

/** Maximum per connection; beyond it the connection is closed. Benchmarks pipeline some dozens. */
const MAX_WAITING = 64;
/** Memory of a waiting request without its header fields, in bytes. */
const REQUEST_BYTES = 4_096;

interface Waiting {
  count: number;
  readonly hold: Hold;
}

/**
 * Requests that wait for earlier ones on their connection (RFC 9112 9.3.2), until the previous response has been sent.
 * The connection is not read meanwhile, and closed if its waiting requests exceed the budget.
 */
export class PipelinedRequests {
  readonly #traffic: Traffic;
  readonly #waiting = new Map<Socket, Waiting>();

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
  }

  /** Does not call `start` if the connection closes before. */
  add(req: IncomingMessage, res: ServerResponse, start: () => void): void {
    const { socket } = req;
    if (socket.destroyed) {
      req.destroy();
      return;
    }
    const waiting = this.#waiting.get(socket) ?? this.#watch(req);
    const caller = { viewer: null, address: this.#traffic.networkOf(req) };
    waiting.count += 1;
    socket.pause();
    if (waiting.count > MAX_WAITING || !waiting.hold.resize(waiting.count * REQUEST_BYTES)) {
      abort(socket);
      return;
    }
    // Node assigns the socket to a response when the one before it has been sent.
    res.once('socket', () => {
      waiting.count -= 1;
      waiting.hold.resize(waiting.count * REQUEST_BYTES);
      if (waiting.count === 0) socket.resume();
      // Node flushes the response right after this event: data written within the event would be sent twice.
      process.nextTick(() =>
        this.#traffic.starts.soon(
          caller,
          start,
          () => !socket.destroyed,
          () => abort(socket),
        ),
      );
    });
  }

  #watch(req: IncomingMessage): Waiting {
    const { socket } = req;
    const waiting = {
      count: 0,
      hold: this.#traffic.requests.hold(this.#traffic.networkOf(req), () => socket.destroy()),
    };
    this.#waiting.set(socket, waiting);
    socket.once('close', () => {
      this.#waiting.delete(socket);
      waiting.hold.release();
    });
    return waiting;
  }
}

/** Node 20 creates an error for each request of a closed connection; its stack took two thirds of the time. */
function abort(socket: Socket): void {
  const { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => {
    Error.stackTraceLimit = 0;
  });
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  socket.destroy();
}
