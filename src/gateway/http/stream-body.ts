import { Readable } from 'node:stream';
import type { RequestOrigin } from './fetch-handler.ts';

const encoder = new TextEncoder();

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
  let isCancelled = false;
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      try {
        let next = await pieces.next();
        while (next.done !== true && next.value === '') next = await pieces.next();
        if (isCancelled) return;
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      } catch (error) {
        if (isCancelled || res?.destroyed === true) return;
        onError(error);
        controller.error(error);
      }
    },
    async cancel() {
      isCancelled = true;
      await pieces.return(undefined);
    },
  };
  const stream = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  if (res === undefined) return stream;
  // @whatwg-node/server 0.11.0 would read one piece ahead, and an error would be unhandled.
  const readable = Readable.fromWeb(stream as never, { highWaterMark: 0 });
  return readable.on('error', () => res.destroy()) as unknown as ReadableStream<Uint8Array>;
}
