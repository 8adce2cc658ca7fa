import type { GraphQLParams } from 'graphql-yoga';
import { networkOf } from '../../../platform/limits/network.ts';
import { receiveBody } from '../../http/read-body.ts';
import { maxBodyBytesOf } from '../../http/traffic.ts';
import type { TransportOptions } from '../http.ts';
import { parseBody } from '../json-post.ts';
import { callerOf, type YogaPlugin } from './yoga-plugin.ts';

/**
 * Reads the body of a POST request within the budgets of bytes in transit, which Yoga's own parser does not know. The
 * bytes count until the response is complete. Errors: TOO_LARGE, RATE_LIMITED, INVALID.
 */
export function jsonBody({ endpoint, maxBodyBytes, traffic }: TransportOptions): YogaPlugin {
  return {
    async onRequestParse({ request, serverContext, setRequestParser }) {
      if (request.method !== 'POST') return;
      const caller = callerOf(serverContext);
      const maxBytes = maxBodyBytesOf(caller.viewer !== null, maxBodyBytes);
      const { bytes, release } = await receiveBody(request, networkOf(caller.address), { maxBytes, traffic });
      serverContext.onClose(release);
      endpoint.rates.body?.(caller, bytes.length);
      setRequestParser(() => parseBody(bytes) as GraphQLParams);
    },
  };
}
