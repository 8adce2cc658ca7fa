import { pipeline, type Readable } from 'node:stream';
import { Response } from '@whatwg-node/server';
import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import { type Compression, describe, encodingOf } from './compression.ts';
import type { FetchHandler } from './fetch-handler.ts';

/** Text, except for event streams, whose events must be sent at once. */
const COMPRESSIBLE = /^(?:text\/(?!event-stream)|application\/(?:json|jsonl|openapi\+json)\b)/;

/** Compresses the responses of a handler to GET and HEAD, if the request came over a socket of this service. */
export const compressed =
  (handler: FetchHandler, compression: Compression): FetchHandler =>
  (request, origin) => {
    const response = handler(request, origin);
    const accept = origin.req?.headers['accept-encoding'];
    const { method } = request;
    if (accept === undefined || (method !== 'GET' && method !== 'HEAD')) return response;
    return after(response, (found) => compress(found, compression, accept, method === 'HEAD'));
  };

function compress(
  response: Response,
  compression: Compression,
  accept: string,
  isHead: boolean,
): ValueOrPromise<Response> {
  const { status, headers: fields } = response;
  if (!COMPRESSIBLE.test(fields.get('content-type') ?? '') || fields.has('content-encoding')) return response;
  const length = fields.get('content-length');
  const headers = Object.fromEntries(fields);
  if (isHead) {
    // The length of the compressed body is unknown.
    const encoding = encodingOf(accept, length === null ? undefined : Number(length));
    if (encoding === null) return response;
    describe(headers, encoding);
    delete headers['content-length'];
    return new Response(null, { status, headers });
  }
  if (length === null) {
    const { body } = response;
    const stream = body && compression.stream(headers, accept);
    if (stream === null) return response;
    // The form in which @whatwg-node/fetch stores a ReadableStream, see `streamBody`, which handles the errors.
    pipeline(body as unknown as Readable, stream, () => undefined);
    return new Response(stream as unknown as ReadableStream, { status, headers });
  }
  if (encodingOf(accept, Number(length)) === null) return response;
  return response.arrayBuffer().then((bytes) => {
    const body = Buffer.from(bytes);
    const whole = compression.body(body, headers, accept) ?? body;
    return after(whole, (sent) => {
      headers['content-length'] = String(sent.length);
      return new Response(sent, { status, headers });
    });
  });
}
