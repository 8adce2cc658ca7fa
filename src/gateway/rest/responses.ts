import { Response } from '@whatwg-node/server';
import { ERROR_STATUS } from '../../platform/errors.ts';
import type { PublicError } from '../graphql/public-error.ts';
import { errorHeaders } from '../http/error-headers.ts';
import { textResponse } from '../http/fetch-handler.ts';
import { streamBody } from '../http/stream-body.ts';
import type { Traffic } from '../http/traffic.ts';
import type { ApiDocument } from './docs-page.ts';
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

export function jsonOf(rest: RestRequest, text: string, { status, total, traffic }: Content & { traffic: Traffic }) {
  const { isHead, origin } = rest;
  return textResponse(text, { status, headers: headOf(rest, total), isHead, origin, traffic });
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
  const headers = { ...headOf(rest), ...errorHeaders(status, info) };
  if (status === 401 && rest.headers.authorization) headers['www-authenticate'] += ', error="invalid_token"';
  if (status === 405) headers.allow = rest.allow;
  return textResponse(text, { status, headers, isHead: rest.isHead, origin: rest.origin, traffic });
}
