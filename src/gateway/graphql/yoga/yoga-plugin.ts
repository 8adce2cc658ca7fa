import type { ServerResponse } from 'node:http';
import type { Plugin } from 'graphql-yoga';
import type { RequestContext } from '../../context.ts';
import type { GraphqlResponse } from '../endpoint.ts';
import type { LiveResults } from '../live/live-results.ts';

/** One request. Plugins set what later plugins read. */
export interface YogaContext {
  readonly requestId: string;
  /** Address of the connection. */
  readonly address: string;
  /** `null` if the request did not come from the HTTP server. */
  readonly res: ServerResponse | null;
  /** Calls back when the response is complete or abandoned. */
  readonly onClose: (callback: () => void) => void;
  /** Set by `authentication`. */
  caller?: RequestContext;
  /** Set by `operations`. Result processors read it, because Yoga's type has no room for a serialised result. */
  outcome?: GraphqlResponse | LiveResults;
}

export type YogaPlugin = Plugin<object, YogaContext>;

/** The caller that `authentication` found. */
export function callerOf({ caller }: YogaContext): RequestContext {
  if (caller === undefined) throw new Error('The request is not authenticated');
  return caller;
}
