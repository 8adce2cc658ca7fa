import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import { ERROR_STATUS } from '../../platform/errors.ts';
import type { PublicError } from '../graphql/public-error.ts';
import { endWithText, textBody } from '../http/text-body.ts';
import type { Traffic } from '../http/traffic.ts';
import { contentTypeOf, DEFAULT_REVISION, type Revision } from './revisions.ts';

type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** Seconds in `Retry-After` if the error has no number. */
const RETRY_AFTER = 5;

const SAFE = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const;

/** One request and its response. Implements RequestFacts: address, headers, id. */
export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly isHead: boolean;
  revision: Revision = DEFAULT_REVISION;
  /** Whether further pages of the response are read, for which the caller is checked again. */
  isContinued = false;
  allow = '';
  readonly #traffic: Traffic;
  #headers: RequestHeaders | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, requestId: string, traffic: Traffic) {
    this.#traffic = traffic;
    this.req = req;
    this.res = res;
    this.requestId = requestId;
    req.headers['x-request-id'] = requestId;
    this.isHead = req.method === 'HEAD';
  }

  get url(): string {
    return this.req.url ?? '/';
  }

  get address(): string {
    return this.req.socket.remoteAddress ?? '';
  }

  /** Always has `x-request-id`. All values are strings: only `set-cookie`, which requests do not have, is an array. */
  get headers(): RequestHeaders {
    return this.#headers ?? (this.req.headers as RequestHeaders);
  }

  presentToken(token: string): void {
    this.#headers = { ...this.headers, authorization: `Bearer ${token}` };
  }

  #head(contentType: string): OutgoingHttpHeader[] {
    return ['Content-Type', contentType, 'X-Request-Id', this.requestId, ...SAFE];
  }

  json(status: number, text: string, total?: number): void {
    const head = this.#head(contentTypeOf(this.revision));
    const body = textBody(text);
    head.push('Content-Length', body.bytes);
    if (total !== undefined) head.push('X-Total-Count', total);
    this.res.writeHead(status, head);
    if (this.isHead) {
      this.res.end();
      return;
    }
    this.#traffic.responding(this.res, body.bytes);
    endWithText(this.res, body);
  }

  open(status: number, total?: number): ServerResponse {
    const head = this.#head(contentTypeOf(this.revision));
    if (total !== undefined) head.push('X-Total-Count', total);
    return this.res.writeHead(status, head);
  }

  document(contentType: string, body: Buffer, extra: readonly OutgoingHttpHeader[]): void {
    this.res.writeHead(200, [...this.#head(contentType), 'Content-Length', body.length, ...extra]);
    this.res.end(this.isHead ? undefined : body);
  }

  empty(status: number, extra: readonly OutgoingHttpHeader[] = []): void {
    this.res.writeHead(status, ['X-Request-Id', this.requestId, 'Cache-Control', 'no-store', ...extra]);
    this.res.end();
  }

  /** Does nothing if the response has started. `close`: the rest of the request is not read. */
  fail({ message, extensions: { code, info } }: PublicError, close = false): void {
    const { res, req } = this;
    if (res.headersSent || res.destroyed) return;
    const status = ERROR_STATUS[code];
    const text = JSON.stringify({ message, code, status, info });
    const head = this.#head(contentTypeOf(this.revision));
    head.push('Content-Length', Buffer.byteLength(text));
    const hint = req.headers.authorization ? ', error="invalid_token"' : '';
    if (status === 401) head.push('WWW-Authenticate', `Bearer realm="brokergraph"${hint}`);
    else if (status === 405) head.push('Allow', this.allow);
    else if (status === 429 || status === 503) head.push('Retry-After', retryAfter(info));
    if (close) head.push('Connection', 'close');
    res.writeHead(status, head);
    res.end(this.isHead ? undefined : text);
  }
}

function retryAfter(info: Readonly<Record<string, unknown>> | undefined): number {
  const known = info?.retryAfterSeconds;
  return typeof known === 'number' && Number.isFinite(known) && known > 0 ? Math.ceil(known) : RETRY_AFTER;
}

const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** The caller's `X-Request-Id` if it is valid for logs and header fields, otherwise a new id. */
export function requestIdOf(req: IncomingMessage): string {
  const sent = req.headers['x-request-id'];
  return typeof sent === 'string' && WELL_FORMED.test(sent) ? sent : randomUUID();
}
