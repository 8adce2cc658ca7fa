/** GraphQL over HTTP: media types and status codes. https://graphql.github.io/graphql-over-http/draft/ */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_STATUS } from '../../platform/errors.ts';
import { proceed, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import { JSON_TYPE, RESPONSE_TYPE, weightOf, weightsOf } from '../http/accept.ts';
import { errorHeaders } from '../http/error-headers.ts';
import { endWithBytes, endWithText, type TextBody, textBody } from '../http/text-body.ts';
import type { Traffic } from '../http/traffic.ts';
import { type ContextFor, type Endpoint, type GraphqlResponse, type RequestFacts, textOf } from './endpoint.ts';
import { requestErrorStatus } from './public-error.ts';
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from './response-limit.ts';

export const EVENT_STREAM = 'text/event-stream';

export type MediaType = typeof JSON_TYPE | typeof RESPONSE_TYPE;

const CONTENT_TYPE = {
  [JSON_TYPE]: `${JSON_TYPE}; charset=utf-8`,
  [RESPONSE_TYPE]: `${RESPONSE_TYPE}; charset=utf-8`,
} as const;

/**
 * How the results are sent, by the field `Accept` (RFC 9110, section 12.5.1): `type` of JSON, `null` if the client
 * accepts none, and the operations whose results are server-sent events.
 */
interface Accepted {
  readonly type: MediaType | null;
  readonly events: 'NONE' | 'SUBSCRIPTIONS' | 'ALL';
}

/** Older clients send no `Accept` and expect JSON. */
const JSON_ONLY: Accepted = { type: JSON_TYPE, events: 'NONE' };
const RESPONSE_ONLY: Accepted = { type: RESPONSE_TYPE, events: 'NONE' };

export function accepted(accept: string | null | undefined): Accepted {
  if (accept === undefined || accept === null || accept === '*/*' || accept === JSON_TYPE) return JSON_ONLY;
  if (accept === RESPONSE_TYPE) return RESPONSE_ONLY;
  // An empty list allows as much as no list.
  if (/^[\s,]*$/.test(accept)) return JSON_ONLY;
  const weights = weightsOf(accept);
  const json = weightOf(weights, JSON_TYPE);
  const response = weightOf(weights, RESPONSE_TYPE);
  // A browser that accepts anything does not expect events.
  const events = weights.get(EVENT_STREAM) ?? weights.get('text/*') ?? 0;
  return {
    type:
      response > json || (response === json && isFirst(weights, RESPONSE_TYPE))
        ? typeIf(response, RESPONSE_TYPE)
        : typeIf(json, JSON_TYPE),
    events: eventsIf(events, Math.max(json, response)),
  };
}

const typeIf = (weight: number, type: MediaType): MediaType | null => (weight > 0 ? type : null);

function eventsIf(events: number, json: number): Accepted['events'] {
  if (events === 0) return 'NONE';
  return events > json ? 'ALL' : 'SUBSCRIPTIONS';
}

function isFirst(weights: ReadonlyMap<string, number>, type: MediaType): boolean {
  for (const range of weights.keys()) if (range !== EVENT_STREAM && OFFERED.has(range)) return range === type;
  return false;
}

const OFFERED: ReadonlySet<string> = new Set([JSON_TYPE, RESPONSE_TYPE, 'application/*', '*/*']);

/** Whether the headers say JSON. A browser sends JSON to another origin only after a preflight request. */
export function isJsonType(type: string | null | undefined, encoding: string | null | undefined): boolean {
  if (encoding !== undefined && encoding !== null && encoding !== 'identity') return false;
  if (type === JSON_TYPE) return true;
  if (type === undefined || type === null) return false;
  const [media, ...parameters] = type.toLowerCase().replaceAll(/[\s"]/g, '').split(';');
  const charset = parameters.find((text) => text.startsWith('charset='));
  return media === JSON_TYPE && (charset === undefined || /^charset=utf-?8$/.test(charset));
}

export interface TransportOptions {
  readonly endpoint: Endpoint;
  /** Maximum size of a body or WebSocket message in bytes. */
  readonly maxBodyBytes: number;
  readonly traffic: Traffic;
  readonly contextFor: ContextFor;
  readonly keepAliveMs: number;
  readonly anonymousIdleMs: number;
}

/** `authorization` replaces the header field. */
export function factsOf(req: IncomingMessage, authorization?: string): RequestFacts {
  const own = req.headers as Record<string, string | undefined>;
  return {
    headers: authorization === undefined ? own : { ...own, authorization },
    address: req.socket.remoteAddress ?? '',
    url: req.url ?? '',
  };
}

interface RenderedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: TextBody;
}

/** Status, headers and text of a response. One above MAX_RESPONSE_BYTES becomes a TOO_LARGE error. */
export function rendered(response: GraphqlResponse, type: MediaType): RenderedResponse {
  const body = textBody(textOf(response));
  if (body.bytes > MAX_RESPONSE_BYTES) {
    const { message, extensions } = new ResponseTooLarge();
    return rendered({ result: { errors: [{ message, extensions }] }, wellFormed: true }, type);
  }
  const status = response.status ?? statusOf(response, type);
  const headers: Record<string, string> = { 'content-type': CONTENT_TYPE[type] };
  if (status !== 200) Object.assign(headers, errorHeaders(status, response.result.errors?.[0]?.extensions.info));
  if (status === ERROR_STATUS.METHOD_NOT_ALLOWED) headers.allow = 'GET, POST, OPTIONS';
  return { status, headers, body };
}

/** With `application/json`, a well-formed request with an invalid document gets 200. */
function statusOf({ result, wellFormed }: GraphqlResponse, type: MediaType): number {
  if (result.errors === undefined || result.data !== undefined) return 200;
  const status = requestErrorStatus(result.errors);
  return status === ERROR_STATUS.INVALID && wellFormed && type === JSON_TYPE ? 200 : status;
}

export function writeResponse(res: ServerResponse, response: GraphqlResponse, type: MediaType, traffic: Traffic): void {
  if (res.headersSent || res.destroyed) return;
  const { status, headers, body } = rendered(response, type);
  const compressed = compressedBody(response, headers, body, res.req.headers['accept-encoding'], traffic);
  const writeHead = (bytes: number) => {
    headers['content-length'] = String(bytes);
    traffic.responding(res, bytes);
    res.writeHead(status, headers);
  };
  const write = (bytes: Buffer) => {
    if (res.destroyed) return;
    writeHead(bytes.length);
    endWithBytes(res, bytes);
  };
  if (compressed !== null) {
    proceed(compressed, write, () => res.destroy());
    return;
  }
  writeHead(body.bytes);
  endWithText(res, body);
}

/** `null`: the text is sent as it is. Otherwise `headers` describe the compressed body, except for its length. */
export function compressedBody(
  { isMutation = false }: GraphqlResponse,
  headers: Record<string, string>,
  body: TextBody,
  accept: string | undefined,
  { compression }: Traffic,
): ValueOrPromise<Buffer<ArrayBuffer>> | null {
  return isMutation ? null : compression.body(body, headers, accept);
}
