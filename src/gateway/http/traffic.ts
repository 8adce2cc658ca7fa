import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../platform/errors.ts';
import { ByteBudget, type Hold } from '../../platform/limits/byte-budget.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { OperationStarts } from '../../platform/limits/operation-starts.ts';

const MAX_REQUEST_BYTES = 64 * 1_048_576;
const MAX_RESPONSE_BYTES = 128 * 1_048_576;
/** Bodies of callers without valid credentials, in bytes. They sign in, which needs less than a kilobyte. */
export const MAX_ANONYMOUS_BODY_BYTES = 65_536;
/** Fewer bytes of one request or connection are not counted: they are part of what a connection costs. */
export const UNCOUNTED_BYTES = 4_096;
/** Shorter responses are not counted: the buffers of the operating system take them. In bytes. */
const UNCOUNTED_RESPONSE_BYTES = 65_536;
/** What a piece of a body occupies beside its bytes: a caller may send a body in pieces of one byte. */
export const PIECE_BYTES = 256;
const RETRY_AFTER_SECONDS = 1;

export interface TrafficOptions {
  /**
   * Maximum number of bytes of request bodies and WebSocket messages that are arriving or being worked on. One network may have half.
   * Default: 64 MiB.
   */
  readonly maxRequestBytes?: number;
  /** Maximum number of bytes of responses that clients have not taken. Default: 128 MiB. */
  readonly maxResponseBytes?: number;
  /** Address of the caller of a request. Default: that of the connection. */
  readonly callerOf?: (req: IncomingMessage) => string;
}

/**
 * Budgets of the bytes that are under way over all connections, in each direction. The network with the most bytes loses first.
 *
 * Requests that lose are refused with RATE_LIMITED. Connections whose responses lose are closed.
 */
export class Traffic {
  /** Request bodies and WebSocket messages. */
  readonly requests: ByteBudget;
  /** Responses. */
  readonly responses: ByteBudget;
  /** Turns in which operations start. */
  readonly starts = new OperationStarts();
  readonly #callerOf: (req: IncomingMessage) => string;

  constructor({
    maxRequestBytes = MAX_REQUEST_BYTES,
    maxResponseBytes = MAX_RESPONSE_BYTES,
    callerOf = addressOf,
  }: TrafficOptions = {}) {
    this.requests = new ByteBudget({ maxBytes: maxRequestBytes, maxBytesPerKey: maxRequestBytes / 2 });
    this.responses = new ByteBudget({ maxBytes: maxResponseBytes });
    this.#callerOf = callerOf;
  }

  networkOf(req: IncomingMessage): string {
    return networkOf(this.#callerOf(req));
  }

  /** To be called before a response is ended. Counts its bytes until the client has taken them. */
  responding(res: ServerResponse, bytes: number): void {
    if (bytes < UNCOUNTED_RESPONSE_BYTES) return;
    const hold = this.responses.hold(this.networkOf(res.req), () => res.destroy());
    res.on('close', () => hold.release());
    if (!hold.resize(bytes)) res.destroy();
  }
}

const addressOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';

/** Counts the body of one request while it arrives and until its response is done. */
export class BodyBytes {
  readonly #traffic: Traffic;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #onRefused: () => void;
  #bytes = 0;
  #hold: Hold | null = null;

  /** `onRefused` is called when the body loses its room. */
  constructor(traffic: Traffic, req: IncomingMessage, res: ServerResponse, onRefused: () => void) {
    this.#traffic = traffic;
    this.#req = req;
    this.#res = res;
    this.#onRefused = onRefused;
  }

  /** Counts a piece, or calls `onRefused`. */
  add(piece: Buffer): void {
    this.#bytes += piece.length + PIECE_BYTES;
    if (this.#bytes <= UNCOUNTED_BYTES) return;
    this.#hold ??= this.#open();
    if (!this.#hold.resize(this.#bytes)) this.#onRefused();
  }

  /** The body is whole and will be used. */
  pin(): void {
    this.#hold?.pin();
  }

  /** The body is not used. */
  release(): void {
    this.#hold?.release();
  }

  #open(): Hold {
    const hold = this.#traffic.requests.hold(this.#traffic.networkOf(this.#req), this.#onRefused);
    this.#res.on('close', () => hold.release());
    return hold;
  }
}

export function noRoom(): ServiceError {
  return new ServiceError('RATE_LIMITED', 'Too many bytes of requests are under way; try again in 1 s', {
    info: { retryAfterSeconds: RETRY_AFTER_SECONDS },
  });
}

/** Maximum number of bytes of a body of a caller, who has valid credentials or not. */
export const maxBodyBytesOf = (isKnown: boolean, maxBytes: number): number =>
  isKnown ? maxBytes : Math.min(maxBytes, MAX_ANONYMOUS_BODY_BYTES);

export function tooLarge(maxBytes: number): ServiceError {
  const hint = maxBytes === MAX_ANONYMOUS_BODY_BYTES ? ' without valid credentials' : '';
  return new ServiceError('TOO_LARGE', `The body must not have more than ${maxBytes} bytes${hint}`, {
    info: { maxBytes },
  });
}
