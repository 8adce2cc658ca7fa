/** GraphQL over HTTP: media types and status codes. https://graphql.github.io/graphql-over-http/draft/ */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_STATUS, type ErrorCode } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import { endWithText, textBody } from '../http/text-body.ts';
import type { Traffic } from '../http/traffic.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Endpoint, GraphqlResponse } from './endpoint.ts';
import { requestErrorStatus } from './public-error.ts';
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from './response-limit.ts';

export const JSON_TYPE = 'application/json';
const RESPONSE_TYPE = 'application/graphql-response+json';
export const EVENT_STREAM = 'text/event-stream';

/** Seconds in `Retry-After` if the error has no number. */
const RETRY_AFTER = '1';

export type MediaType = typeof JSON_TYPE | typeof RESPONSE_TYPE;

const CONTENT_TYPE = {
  [JSON_TYPE]: `${JSON_TYPE}; charset=utf-8`,
  [RESPONSE_TYPE]: `${RESPONSE_TYPE}; charset=utf-8`,
} as const;

/** `null` if the client accepts neither. Older clients send no `Accept` and expect JSON. */
export function acceptedType(accept: string | undefined): MediaType | null {
  if (accept === undefined || accept === '*/*' || accept === JSON_TYPE) return JSON_TYPE;
  if (accept === RESPONSE_TYPE) return RESPONSE_TYPE;
  let best: MediaType | null = null;
  let bestWeight = 0;
  for (const part of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1);
    const media =
      type === RESPONSE_TYPE
        ? RESPONSE_TYPE
        : type === JSON_TYPE || type === '*/*' || type === 'application/*'
          ? JSON_TYPE
          : null;
    if (media && weight > bestWeight) {
      best = media;
      bestWeight = weight;
    }
  }
  return best;
}

/** Status of a response. With `application/json`, a well-formed request with an invalid document gets 200. */
export function statusOf({ result, wellFormed }: GraphqlResponse, type: MediaType): number {
  if (result.errors === undefined || result.data !== undefined) return 200;
  const status = requestErrorStatus(result.errors);
  return status === ERROR_STATUS.INVALID && wellFormed && type === JSON_TYPE ? 200 : status;
}

export function headersFor(status: number, type: MediaType): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': CONTENT_TYPE[type],
  };
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="brokergraph"';
  if (status === 405) headers.allow = 'GET, POST, OPTIONS';
  return headers;
}

export interface TransportOptions {
  readonly endpoint: Endpoint;
  /** Maximum size of a body or WebSocket message in bytes. */
  readonly maxBodyBytes: number;
  readonly traffic: Traffic;
  /** `authorization` replaces the header field. */
  readonly contextFor: (req: IncomingMessage, authorization?: string) => MaybePromise<RequestContext>;
  readonly keepAliveMs: number;
  readonly anonymousIdleMs: number;
}

interface WriteOptions {
  /** Counts the bytes of the response. Default: they are not counted. */
  readonly traffic?: Traffic;
  readonly status?: number;
}

export function writeResponse(
  res: ServerResponse,
  response: GraphqlResponse,
  type: MediaType,
  options: WriteOptions = {},
): void {
  if (res.headersSent || res.destroyed) return;
  const body = textBody(textOf(response));
  if (body.bytes > MAX_RESPONSE_BYTES) {
    const { message, extensions } = new ResponseTooLarge();
    writeResponse(res, { result: { errors: [{ message, extensions }] }, wellFormed: true }, type);
    return;
  }
  const status = options.status ?? statusOf(response, type);
  const headers = headersFor(status, type);
  headers['content-length'] = String(body.bytes);
  if (status === ERROR_STATUS.RATE_LIMITED) headers['retry-after'] = retryAfter(response);
  options.traffic?.responding(res, body.bytes);
  res.writeHead(status, headers);
  endWithText(res, body);
}

function retryAfter({ result }: GraphqlResponse): string {
  const seconds = result.errors?.[0]?.extensions.info?.retryAfterSeconds;
  return typeof seconds === 'number' ? String(Math.ceil(seconds)) : RETRY_AFTER;
}

function textOf({ result, dataText }: GraphqlResponse): string {
  if (dataText === undefined) return JSON.stringify(result);
  if (result.errors === undefined) return `{"data":${dataText}}`;
  return `{"errors":${JSON.stringify(result.errors)},"data":${dataText}}`;
}

/** `status` replaces the HTTP status of the error code, for statuses such as 406 and 415. */
export function writeErrorResponse(
  res: ServerResponse,
  code: ErrorCode,
  message: string,
  status: number = ERROR_STATUS[code],
): void {
  const result = { errors: [{ message, extensions: { code } }] };
  writeResponse(res, { result, wellFormed: false }, JSON_TYPE, { status });
}

/** Whether the headers say JSON. A browser sends JSON to another origin only after a preflight request. */
export function isJsonBody({ headers }: IncomingMessage): boolean {
  const type = headers['content-type'];
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') return false;
  if (type === JSON_TYPE) return true;
  if (type === undefined) return false;
  const [media, ...parameters] = type
    .toLowerCase()
    .split(';')
    .map((text) => text.trim());
  const charset = parameters
    .find((text) => text.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  return media === JSON_TYPE && (charset === undefined || charset === 'utf-8' || charset === 'utf8');
}
