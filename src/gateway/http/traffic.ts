import type { IncomingMessage, ServerResponse } from 'node:http';
import { ByteBudget, type Hold } from '../../platform/limits/byte-budget.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { OperationStarts } from '../../platform/limits/operation-starts.ts';
import { SlicedStarts } from '../../platform/scheduling/sliced-task.ts';
import { Compression } from './compression.ts';

const MAX_REQUEST_BYTES = 64 * 1_048_576;
const MAX_RESPONSE_BYTES = 64 * 1_048_576;
/** Maximum body of callers without valid credentials, in bytes. To sign in takes less than a kilobyte. */
export const MAX_ANONYMOUS_BODY_BYTES = 65_536;
/** Fewer bytes of one request or connection are not counted: every connection needs that much. */
export const UNCOUNTED_BYTES = 4_096;
/** Shorter responses are not counted: the buffers of the operating system hold them. In bytes. */
const UNCOUNTED_RESPONSE_BYTES = 65_536;
/** Memory of a chunk of a body in addition to its bytes: a caller may send chunks of one byte. */
export const PIECE_BYTES = 256;

interface TrafficOptions {
  /** Bytes of bodies and WebSocket messages in progress; one network may have half. Default: 64 MiB. */
  readonly maxRequestBytes?: number;
  /** Bytes of responses that clients have not received. Default: 64 MiB. */
  readonly maxResponseBytes?: number;
  /** Address of the caller of a request. Default: the remote address of the connection. */
  readonly callerOf?: (req: IncomingMessage) => string;
}

/** Budgets of the bytes in transit, one per direction. Beyond a budget the network with the most bytes loses first. */
export class Traffic {
  readonly requests: ByteBudget;
  readonly responses: ByteBudget;
  /** Turns of connections whose bytes are read. */
  readonly reads = new SlicedStarts();
  readonly starts = new OperationStarts(this.reads);
  readonly compression = new Compression();
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

  /** Opens a hold for the body of a request until its response is complete. */
  receiving(req: IncomingMessage, res: ServerResponse, onEvicted: () => void): Hold {
    const hold = this.requests.hold(this.networkOf(req), onEvicted);
    res.on('close', () => hold.release());
    return hold;
  }

  responding(res: ServerResponse, bytes: number): void {
    if (bytes < UNCOUNTED_RESPONSE_BYTES) return;
    const hold = this.responses.hold(this.networkOf(res.req), () => res.destroy());
    res.on('close', () => hold.release());
    if (!hold.resize(bytes)) res.destroy();
  }
}

const addressOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';

export const maxBodyBytesOf = (isAuthenticated: boolean, maxBytes: number): number =>
  isAuthenticated ? maxBytes : Math.min(maxBytes, MAX_ANONYMOUS_BODY_BYTES);
