/**
 * Operations over server-sent events, in the "distinct connections mode" of graphql-sse: one stream per operation
 * (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md).
 *
 * A refused subscription gets one event with status 200: the client of graphql-sse treats any other status as a network
 * failure and retries. Other operations have the status of GraphQL over HTTP.
 *
 * A comment every `keepAliveMs` keeps proxies from closing a stream without events. With HTTP/1.0, the default of
 * nginx, the stream ends with its connection. A client that receives nothing while SILENT_COMMENTS comments are due is
 * disconnected.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../../platform/errors.ts';
import { QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
import type { RequestContext } from '../../context.ts';
import { bodyOf } from '../../http/read-body.ts';
import { maxBodyBytesOf, type Traffic } from '../../http/traffic.ts';
import type { GraphqlResponse } from '../endpoint.ts';
import {
  acceptedType,
  EVENT_STREAM,
  headersFor,
  JSON_TYPE,
  statusOf,
  type TransportOptions,
  writeResponse,
} from '../http.ts';
import { parseBody } from '../json-post.ts';
import { LiveResults } from './live-results.ts';
import type { ResultText } from './result-text.ts';
import { type ResultSink, SubscriptionWriter } from './subscription-writer.ts';

/** Beyond this number of unsent bytes nothing is written until all of them are sent. */
const HIGH_MARK = 65_536;
const SILENT_COMMENTS = 4;
/** `x-accel-buffering` stops nginx from collecting some kilobytes of events before it forwards them. */
const HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** Responds to one request. Never rejects. */
export async function serveEventStream(
  req: IncomingMessage,
  res: ServerResponse,
  options: TransportOptions,
): Promise<void> {
  const { endpoint, contextFor } = options;
  let context: RequestContext;
  try {
    context = await contextFor(req);
  } catch (error) {
    writeResponse(res, endpoint.refusal(error, req), acceptedType(req.headers.accept) ?? JSON_TYPE);
    return;
  }
  try {
    const body = req.method === 'GET' ? null : await readCounted(req, res, context, options);
    const isWanted = () => !res.destroyed;
    const response = await new Promise<GraphqlResponse | LiveResults>((resolve, reject) => {
      const start = () => {
        const params = body === null ? paramsOf(req) : parseBody(body);
        resolve(endpoint.start(params, context, { queriesOnly: body === null }));
      };
      options.traffic.starts.run(context, start, isWanted).catch(reject);
    });
    if (response instanceof LiveResults) stream(res, response, options);
    else writeOne(res, response, options.traffic);
  } catch (error) {
    // The client disconnected before the operation started.
    if (error instanceof QueueFull) return;
    writeOne(res, endpoint.refusal(error, req), options.traffic);
  }
}

async function readCounted(
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
  { endpoint, maxBodyBytes, traffic }: TransportOptions,
): Promise<Buffer> {
  const body = await bodyOf(req, res, { maxBytes: maxBodyBytesOf(context.viewer !== null, maxBodyBytes), traffic });
  endpoint.rates.body?.(context, body.length);
  return body;
}

function paramsOf(req: IncomingMessage): unknown {
  const search = new URL(req.url ?? '', 'http://localhost').searchParams;
  const json = (name: string): unknown => {
    const text = search.get(name);
    try {
      return text === null || text === '' ? undefined : JSON.parse(text);
    } catch (cause) {
      throw new ServiceError('INVALID', `The query parameter "${name}" is not valid JSON`, { cause });
    }
  };
  return {
    query: search.get('query') ?? undefined,
    operationName: search.get('operationName'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}

function writeOne(res: ServerResponse, response: GraphqlResponse, traffic: Traffic): void {
  if (res.headersSent || res.destroyed) return;
  const status = response.isRefusedStream ? 200 : statusOf(response, JSON_TYPE);
  res.writeHead(status, { ...headersFor(status, JSON_TYPE), ...HEADERS });
  const text = JSON.stringify(response.result);
  traffic.responding(res, text.length);
  res.end(`event: next\ndata: ${text}\n\n${COMPLETE}`);
}

const COMPLETE = 'event: complete\ndata:\n\n';

function stream(res: ServerResponse, results: LiveResults, { endpoint, keepAliveMs }: TransportOptions): void {
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
  const sink: ResultSink = {
    get isReady() {
      return res.writableLength < HIGH_MARK && !res.destroyed;
    },
    // Node emits `drain`: `write` returns false at fewer bytes than HIGH_MARK.
    whenReady: (wake) => res.once('drain', wake),
    write: (result) => writeEvent(res, result),
    // Node buffers what is written in one event loop iteration.
    flush: () => undefined,
    end: () => res.end(COMPLETE),
  };
  const writer = new SubscriptionWriter(results, sink, endpoint.sharing.calls);
  res.once('close', () => {
    clearInterval(comments);
    writer.stop();
  });
  res.writeHead(200, HEADERS);
  res.write(':\n\n');
  writer.start();
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
