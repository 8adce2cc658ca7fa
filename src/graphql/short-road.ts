/**
 * Queries and mutations by POST with JSON, straight on node:http: one body read, one write. It answers as Yoga's road does,
 * for a tenth of the work: no Request, no Response, no streams between.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';
import { type MediaType, readBody, writeAnswer } from './http.ts';
import { publicError } from './public-error.ts';

export interface ShortRoadOptions {
  readonly endpoint: Endpoint;
  readonly maxBodyBytes: number;
}

/** Throws UNAUTHORIZED and what else makes a context impossible. */
export type MakeContext = () => RequestContext | Promise<RequestContext>;

export async function shortRoad(
  req: IncomingMessage,
  res: ServerResponse,
  type: MediaType,
  makeContext: MakeContext,
  { endpoint, maxBodyBytes }: ShortRoadOptions,
): Promise<void> {
  let answer: Awaited<ReturnType<Endpoint['run']>>;
  try {
    const body = await readBody(req, maxBodyBytes);
    answer = await endpoint.run(parseBody(body), await makeContext());
  } catch (error) {
    const requestId = String(req.headers['x-request-id']);
    answer = { result: { errors: [publicError(error, { requestId, log: endpoint.log })] }, wellFormed: false };
  }
  writeAnswer(res, answer, type);
}

function parseBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw new ServiceError('INVALID', 'The body is not UTF-8');
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw new ServiceError('INVALID', 'The body is not JSON', { cause });
  }
}
