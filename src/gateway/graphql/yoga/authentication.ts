import type { ContextFor } from '../endpoint.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** Finds the caller before anything of the request is read. Errors: those of `ContextFor`. */
export function authentication(contextFor: ContextFor): YogaPlugin {
  return {
    async onRequestParse({ request, serverContext }) {
      const { address, requestId } = serverContext;
      const headers = { ...Object.fromEntries(request.headers), 'x-request-id': requestId };
      serverContext.caller = await contextFor({ headers, address, url: request.url });
    },
  };
}
