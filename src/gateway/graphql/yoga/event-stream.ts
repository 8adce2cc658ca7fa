import { JSON_TYPE } from '../../http/accept.ts';
import { accepted, EVENT_STREAM, rendered, type TransportOptions } from '../http.ts';
import { LiveResults } from '../live/live-results.ts';
import { eventOf } from '../live/result-text.ts';
import { COMPLETE, EventStreamBody } from './event-stream-body.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** `x-accel-buffering` stops nginx from collecting some kilobytes of events before it forwards them. */
const HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/**
 * Responds with server-sent events, in the "distinct connections mode" of graphql-sse: one stream per operation
 * (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md). Yoga's own processor would execute and serialise
 * each event for each subscriber.
 *
 * Queries and mutations get JSON, unless events weigh more in `Accept`. Then a refused subscription gets one event with
 * status 200: the client of graphql-sse treats any other status as a network failure and retries. Other operations have
 * the status of GraphQL over HTTP.
 */
export function eventStreams({ endpoint, traffic, keepAliveMs }: TransportOptions): YogaPlugin {
  return {
    onResultProcess({ request, serverContext: { outcome, res }, setResultProcessor }) {
      if (outcome === undefined) return;
      if (!(outcome instanceof LiveResults) && accepted(request.headers.get('accept')).events !== 'ALL') return;
      setResultProcessor((_result, { Response }) => {
        if (outcome instanceof LiveResults) {
          const { calls } = endpoint.sharing;
          const body = new EventStreamBody(outcome, { calls, keepAliveMs, signal: request.signal, res });
          return new Response(body as unknown as ReadableStream, { status: 200, headers: HEADERS });
        }
        const { status, headers, body } = rendered(outcome, JSON_TYPE);
        if (res !== null) traffic.responding(res, body.bytes);
        const text = `${eventOf(body.text)}${COMPLETE}`;
        return new Response(text, {
          status: outcome.isRefusedStream ? 200 : status,
          headers: { ...headers, ...HEADERS },
        });
      }, EVENT_STREAM);
    },
  };
}
