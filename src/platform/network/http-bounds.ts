import type { ClientRequest, IncomingMessage } from 'node:http';

/** Maximum number of interim responses (RFC 9110, 15.2) of one request. */
const MAX_INTERIM = 10;
/** Pieces of a body that may have any size. Further ones must have 32 bytes on average. */
const FREE_PIECES = 100;
const MEAN_PIECE_BYTES = 32;

/** Destroys the request with an error after too many interim responses. Node has no limit. */
export function boundInterim(request: ClientRequest): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > MAX_INTERIM) request.destroy(new Error(`more than ${MAX_INTERIM} interim responses (1xx)`));
  });
}

/** Destroys a message with many small pieces, each of which takes as long as a large one. Call it before it is read. */
export function boundPieces(message: IncomingMessage): void {
  let pieces = 0;
  let bytes = 0;
  const push = message.push;
  message.push = (piece: Uint8Array | null, ...rest) => {
    if (piece !== null) {
      pieces += 1;
      bytes += piece.length;
      if (pieces > FREE_PIECES + bytes / MEAN_PIECE_BYTES) {
        message.destroy();
        return false;
      }
    }
    return push.call(message, piece, ...rest);
  };
}
