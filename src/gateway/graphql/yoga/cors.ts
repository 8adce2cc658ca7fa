import type { YogaServerOptions } from 'graphql-yoga';
import type { YogaPlugin } from './yoga-plugin.ts';

type Cors = Exclude<YogaServerOptions<object, object>['cors'], undefined>;

const ALLOWED = {
  credentials: false,
  methods: ['GET', 'POST'],
  allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id'],
  exposedHeaders: ['X-Request-Id'],
  maxAge: 600,
};

/** Yoga's option for pages of other origins. They send `Authorization`, so no cookies are allowed. */
export function corsOf(origins: ReadonlySet<string>): Cors {
  return ({ headers }) => {
    const origin = headers.get('origin');
    return origin !== null && origins.has(origin) && { ...ALLOWED, origin };
  };
}

/** Headers of all responses. Yoga sets no `Vary` for a single origin. */
export const responseHeaders: YogaPlugin = {
  onResponse({ request, response: { headers }, serverContext: { requestId } }) {
    headers.set('x-request-id', requestId);
    if (request.headers.has('origin')) headers.append('vary', 'Origin');
    if (request.method === 'OPTIONS') headers.set('allow', 'GET, POST, OPTIONS');
  },
};
