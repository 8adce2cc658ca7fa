import { Readable } from 'node:stream';
import type { RequestOrigin } from './fetch-handler.ts';

/**
 * Body of a response in pieces. The next piece is created when the client has room for it, so that at most one is in
 * memory. After an error the response is aborted, so that no client takes a part for the whole. `onError` receives the
 * error, unless the client has left.
 */
export function streamBody(
  pieces: AsyncGenerator<string>,
  { res }: RequestOrigin,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const read = async () => {
    let next = await pieces.next();
    while (next.done !== true && next.value === '') next = await pieces.next();
    return next.done === true ? null : next.value;
  };
  // The form in which @whatwg-node/fetch stores a ReadableStream. It would read one piece of any other ahead.
  const stream = new Readable({
    highWaterMark: 0,
    read: () =>
      void read()
        .then((piece) => stream.push(piece))
        .catch((error) => stream.destroy(error)),
    destroy: (error, done) => void pieces.return(undefined).then(() => done(error), done),
  });
  stream.on('error', (error) => {
    if (res?.destroyed !== true) onError(error);
    res?.destroy();
  });
  return stream as unknown as ReadableStream<Uint8Array>;
}
