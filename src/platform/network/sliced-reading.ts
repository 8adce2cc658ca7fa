import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../limits/network.ts';
import type { SlicedStarts } from '../scheduling/sliced-task.ts';
import { boundPieces } from './http-bounds.ts';

/**
 * A caller can send a body in chunks of one byte, and Node parses all chunks of a read, up to 64 KiB, in one piece: 22
 * ms of processor time for each connection. Here Node gets a read in slices, so that a connection can be ended after
 * the first few chunks.
 */

/** Bytes that Node parses at once, unless they are known to be a body with a Content-Length. */
const SLICE_BYTES = 1_024;

/** Expected bytes of the body with a Content-Length that a connection is sending. */
const expected = new WeakMap<Socket, number>();

/**
 * Must be called when Node has added its own listeners. Without `data` listener, Node reads as usual. `turns` are those
 * of all connections: an iteration may have requests of 1,000 of them, and each takes 0.1 to 2 ms.
 */
export function readInSlices(socket: Socket, turns: SlicedStarts): void {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (parse === undefined) return;
  const network = networkOf(socket.remoteAddress ?? '');
  let hasTurn = false;
  const takeTurn = () => {
    hasTurn = true;
    socket.resume();
  };
  const onData = (bytes: Buffer) => {
    if (hasTurn || turns.isFree) {
      hasTurn = false;
      read(bytes);
      return;
    }
    // The stream holds the bytes, so that its end does not overtake them.
    socket.pause();
    socket.unshift(bytes);
    // Many clients that connect at once delay a connection that has had a response by a few requests only.
    turns.add(socket.bytesWritten > 0 ? network : `${network} first`, takeTurn);
  };
  const read = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length && !socket.destroyed; ) {
      // Node pauses when a client sends further requests without reading the responses. Then it takes no bytes.
      if (socket.isPaused()) {
        socket.unshift(bytes.subarray(at));
        return;
      }
      const body = expected.get(socket) ?? 0;
      const end = Math.min(bytes.length, at + Math.max(SLICE_BYTES, body));
      if (body > 0) expected.set(socket, Math.max(0, body - (end - at)));
      parse(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
      at = end;
      if (!isUpgraded(socket)) continue;
      // Later bytes are those of a WebSocket. A client must wait for the response before it sends them (RFC 6455, 4.1).
      socket.off('data', onData);
      if (at < bytes.length) socket.destroy();
    }
  };
  socket.off('data', parse);
  socket.on('data', onData);
}

const isUpgraded = (socket: Socket): boolean => !(socket as Socket & { readonly parser?: unknown }).parser;

/** Must be called for each request, before its body is read. Ends the connection of a body with many small chunks. */
export function boundBody(req: IncomingMessage, res: ServerResponse): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (length !== undefined) expected.set(req.socket, Number(length));
  if (encoding === undefined) return;
  // Slices divide chunks, too.
  boundPieces(req);
  // Otherwise Node would discard the rest of a body that no handler reads, without `push`.
  res.on('prefinish', () => {
    if (req.complete) return;
    req.read(0);
    req.resume();
  });
}
