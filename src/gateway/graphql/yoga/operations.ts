import type { Endpoint } from '../endpoint.ts';
import { accepted } from '../http.ts';
import { callerOf, type YogaPlugin } from './yoga-plugin.ts';

/** Executes operations by the Endpoint: the cache of documents, limits, compiled programs, masked errors, rates. */
export function operations(endpoint: Endpoint): YogaPlugin {
  return {
    onParams({ request, context, setParamsHandler }) {
      const options = { queriesOnly: request.method === 'GET', toText: true };
      const isStream = accepted(request.headers.get('accept')).events !== 'NONE';
      setParamsHandler(async ({ params }) => {
        const caller = callerOf(context);
        context.outcome = await (isStream
          ? endpoint.start(params, caller, options)
          : endpoint.run(params, caller, options));
        return {};
      });
    },
  };
}
