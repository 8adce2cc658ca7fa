import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServerAdapter, Response } from '@whatwg-node/server';
import type { MaybePromise } from '../maybe-promise.ts';
import { MAX_COPIED_BYTES } from './text-body.ts';
import type { Traffic } from './traffic.ts';

/** What comes with a `Request`. */
export interface RequestOrigin {
  /** Objects of node:http if the request came over a socket of this service. */
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
  /** Address of the connection if the request did not come over a socket of this service. */
  readonly address?: string;
}

/** Never throws or rejects. */
export type FetchHandler = (request: Request, origin: RequestOrigin) => MaybePromise<Response>;

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

interface TextOptions {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly isHead: boolean;
  readonly origin: RequestOrigin;
  /** Counts the bytes until the client has received them. */
  readonly traffic: Traffic;
}

/** Node stores a copy of a long text until the client has received it, so that one is passed as bytes. */
export function textResponse(
  text: string,
  { status, headers, isHead, origin: { res }, traffic }: TextOptions,
): Response {
  const length = Buffer.byteLength(text);
  // Without it, the response would look for the field in several ways, which takes longer than counting.
  headers['content-length'] = String(length);
  if (isHead) return new Response(null, { status, headers });
  if (length <= MAX_COPIED_BYTES) return new Response(text, { status, headers });
  if (res !== undefined) traffic.responding(res, length);
  return new Response(Buffer.from(text), { status, headers });
}
