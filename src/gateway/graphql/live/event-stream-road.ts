/**
 * Operations as server-sent events: graphql-sse's "distinct connections mode"
 * (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md), by POST with JSON or by GET, one stream for each. Queries and
 * mutations are answered by a stream of one event, with the status that they have elsewhere. So is a subscription that is refused when
 * it starts, with 200: graphql-sse's client takes another status for a fault of the network, and tries again instead of telling.
 *
 * A comment every `keepAliveMs` keeps proxies from ending a quiet stream. Nothing here needs HTTP/1.1: towards HTTP/1.0, which
 * nginx speaks unless told otherwise, the stream ends with its connection. Bounds: as for WebSockets, see WebSocketOutlet; a
 * reader that takes nothing of what waits while four comments were due is cut.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../../platform/errors.ts';
import { QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
import type { RequestContext } from '../../context.ts';
import { maxBodyBytesOf, type Traffic } from '../../http/traffic.ts';
import type { Answer, Endpoint } from '../endpoint.ts';
import { acceptedType, EVENT_STREAM, headersFor, JSON_TYPE, readBody, statusOf, writeAnswer } from '../http.ts';
import type { MaybePromise } from '../operations.ts';
import { publicError } from '../public-error.ts';
import { parseBody } from '../short-road.ts';
import { LiveResults } from './live-results.ts';
import { Pump, type Sink } from './pump.ts';
import type { ResultText } from './result-text.ts';

export interface EventStreamOptions {
  readonly endpoint: Endpoint;
  readonly maxBodyBytes: number;
  readonly traffic: Traffic;
  /** Throws UNAUTHORIZED and what else makes a context impossible. */
  readonly contextFor: (req: IncomingMessage) => MaybePromise<RequestContext>;
  /** Between comments, in milliseconds. */
  readonly keepAliveMs: number;
}

/** More than this waiting to be sent: no more is written until all of it has gone. In bytes. */
const HIGH_MARK = 65_536;
const SILENT_COMMENTS = 4;
/** Buffering proxies would keep events back until they have some kilobytes of them. */
const HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** Answers one request; never throws, never rejects. */
export async function eventStreamRoad(
  req: IncomingMessage,
  res: ServerResponse,
  options: EventStreamOptions,
): Promise<void> {
  const { endpoint, contextFor } = options;
  const place = { requestId: String(req.headers['x-request-id']), log: endpoint.log };
  const refusal = (error: unknown): Answer => ({ result: { errors: [publicError(error, place)] }, wellFormed: false });
  let context: RequestContext;
  try {
    context = await contextFor(req);
  } catch (error) {
    writeAnswer(res, refusal(error), acceptedType(req.headers.accept) ?? JSON_TYPE);
    return;
  }
  try {
    const body = req.method === 'GET' ? null : await bodyOf(req, res, context, options);
    const isWanted = () => !res.destroyed;
    const answer = await new Promise<Answer | LiveResults>((resolve, reject) => {
      const start = () => {
        const params = body === null ? paramsOf(req) : parseBody(body);
        resolve(endpoint.start(params, context, { queriesOnly: body === null }));
      };
      options.traffic.starts.run(context, start, isWanted).catch(reject);
    });
    if (answer instanceof LiveResults) stream(res, answer, options);
    else writeOne(res, answer, options.traffic);
  } catch (error) {
    // The client left before its turn came.
    if (error instanceof QueueFull) return;
    writeOne(res, refusal(error), options.traffic);
  }
}

async function bodyOf(
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  { endpoint, maxBodyBytes, traffic }: EventStreamOptions,
): Promise<Buffer> {
  const { viewer } = context;
  const limits = { maxBytes: maxBodyBytesOf(viewer !== null, maxBodyBytes), traffic };
  const body = await new Promise<Buffer>((resolve, reject) => readBody(req, res, limits, resolve, reject));
  endpoint.rates.body?.(context, body.length);
  return body;
}

/** As GraphQL over HTTP has them for GET. */
function paramsOf(req: IncomingMessage): unknown {
  const search = new URL(req.url ?? '', 'http://localhost').searchParams;
  const json = (name: string): unknown => {
    const text = search.get(name);
    try {
      return text === null || text === '' ? undefined : JSON.parse(text);
    } catch (cause) {
      throw new ServiceError('INVALID', `"${name}" is not JSON`, { cause });
    }
  };
  return {
    query: search.get('query') ?? undefined,
    operationName: search.get('operationName'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}

function writeOne(res: ServerResponse, answer: Answer, traffic: Traffic): void {
  if (res.headersSent || res.destroyed) return;
  const status = answer.isRefusedStream ? 200 : statusOf(answer, JSON_TYPE);
  res.writeHead(status, { ...headersFor(status, JSON_TYPE), ...HEADERS });
  const text = JSON.stringify(answer.result);
  traffic.responding(res, text.length);
  res.end(`event: next\ndata: ${text}\n\n${COMPLETE}`);
}

const COMPLETE = 'event: complete\ndata:\n\n';

function stream(res: ServerResponse, results: LiveResults, { endpoint, keepAliveMs }: EventStreamOptions): void {
  if (res.destroyed) {
    results.end();
    return;
  }
  let silent = 0;
  const comments = setInterval(() => {
    silent = res.writableLength === 0 ? 0 : silent + 1;
    if (silent === 0) res.write(':\n\n');
    else if (silent >= SILENT_COMMENTS) res.destroy();
  }, keepAliveMs);
  res.on('drain', () => {
    silent = 0;
  });
  const sink: Sink = {
    get isReady() {
      return res.writableLength < HIGH_MARK && !res.destroyed;
    },
    // Node tells of it: less than this many bytes already made `write` answer false.
    whenReady: (wake) => res.once('drain', wake),
    write: (result) => writeEvent(res, result),
    // Node holds back what is written in one turn of the event loop.
    flush: () => undefined,
    end: () => res.end(COMPLETE),
  };
  const pump = new Pump(results, sink, endpoint.sharing.calls);
  res.once('close', () => {
    clearInterval(comments);
    pump.stop();
  });
  res.writeHead(200, HEADERS);
  res.write(':\n\n');
  pump.start();
}

function writeEvent(res: ServerResponse, result: ResultText): void {
  if (!result.isLarge) {
    res.write(`event: next\ndata: ${result.text}\n\n`);
    return;
  }
  res.write('event: next\ndata: ');
  res.write(result.bytes);
  res.write('\n\n');
}
