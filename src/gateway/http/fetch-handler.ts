import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServerAdapter, Response } from '@whatwg-node/server';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';

/** What comes with a `Request`. */
export interface RequestOrigin {
  /** Objects of node:http if the request came over a socket of this service. */
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
  /** Address of the connection if the request did not come over a socket of this service. */
  readonly address?: string;
}

/** Never throws or rejects. */
export type FetchHandler = (request: Request, origin: RequestOrigin) => ValueOrPromise<Response>;

/** Handler on node:http. Never throws. */
export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => void;

export const onNode = (handler: FetchHandler): NodeHandler =>
  createServerAdapter<RequestOrigin>(handler).requestListener;

export const addressOf = ({ req, address = '' }: RequestOrigin): string => req?.socket.remoteAddress ?? address;

/** Path and query as they were sent. The URL is not parsed, which would change them. */
export function targetOf({ url }: Request): string {
  const start = url.indexOf('/', 'https://'.length);
  return start < 0 ? '/' : url.slice(start);
}

export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

type HeaderValues = Record<string, string>;

/** `headers` must be a new object with names in lower case: the response adds to it. */
export function emptyResponse(status: number, headers: HeaderValues): Response {
  return new Response(null, { status, headers });
}

export function jsonResponse(status: number, body: object, headers: HeaderValues = {}): Response {
  headers['content-type'] = 'application/json; charset=utf-8';
  return new Response(`${JSON.stringify(body)}\n`, { status, headers });
}
