import { Response } from '@whatwg-node/server';
import { ERROR_STATUS } from '../../platform/errors.ts';
import type { PublicError } from '../graphql/public-error.ts';
import { errorHeaders } from '../http/error-headers.ts';
import { streamBody } from '../http/stream-body.ts';
import { MAX_COPIED_BYTES } from '../http/text-body.ts';
import type { Traffic } from '../http/traffic.ts';
import type { ApiDocument } from './docs/api-documents.ts';
import type { RestRequest } from './rest-request.ts';
import { contentTypeOf } from './revisions.ts';

const headOf = ({ requestId, revision }: RestRequest, total?: number): Record<string, string> => {
  const headers: Record<string, string> = {
    'content-type': contentTypeOf(revision),
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (total !== undefined) headers['x-total-count'] = String(total);
  return headers;
};

interface Content {
  readonly status: number;
  /** For `X-Total-Count`. */
  readonly total?: number | undefined;
}

interface Text extends Content {
  /** Counts the bytes until the client has received them. */
  readonly traffic: Traffic;
  /** Further fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Node stores a copy of a long text until the client has received it, so that one is passed as bytes. */
export function jsonOf(rest: RestRequest, text: string, { status, total, traffic, headers: further }: Text): Response {
  const headers = headOf(rest, total);
  if (further !== undefined) Object.assign(headers, further);
  const length = Buffer.byteLength(text);
  // Without it, the response would look for the field in several ways, which takes longer than counting.
  headers['content-length'] = String(length);
  if (rest.isHead) return new Response(null, { status, headers });
  if (length <= MAX_COPIED_BYTES) return new Response(text, { status, headers });
  const { res } = rest.origin;
  if (res !== undefined) traffic.responding(res, length);
  return new Response(Buffer.from(text), { status, headers });
}

export function listOf(
  rest: RestRequest,
  pieces: AsyncGenerator<string>,
  { status, total, onError }: Content & { readonly onError: (error: unknown) => void },
): Response {
  const body = rest.isHead ? null : streamBody(pieces, rest.origin, onError);
  return new Response(body, { status, headers: headOf(rest, total) });
}

export function documentOf(rest: RestRequest, { contentType, body, headers }: ApiDocument): Response {
  const bytes = body();
  const all = { ...headOf(rest), 'content-type': contentType, 'content-length': String(bytes.length), ...headers };
  return new Response(rest.isHead ? null : bytes, { headers: all });
}

export function emptyOf({ requestId }: RestRequest, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, {
    status: 204,
    headers: { 'x-request-id': requestId, 'cache-control': 'no-store', ...headers },
  });
}

export function errorOf(
  rest: RestRequest,
  { message, extensions: { code, info } }: PublicError,
  traffic: Traffic,
): Response {
  const status = ERROR_STATUS[code];
  const text = JSON.stringify({ message, code, status, info });
  const headers = errorHeaders(status, info);
  if (status === 401 && rest.headers.authorization) headers['www-authenticate'] += ', error="invalid_token"';
  if (status === 405) headers.allow = rest.allow();
  return jsonOf(rest, text, { status, traffic, headers });
}
