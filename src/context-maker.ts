import type { Viewer } from './auth/viewer.ts';
import type { Config } from './config.ts';
import type { RequestContext } from './context.ts';
import type { Services } from './services.ts';
import type { Database } from './storage/database.ts';

interface RequestFacts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly address: string;
  readonly url: string;
  readonly requestId?: string;
}

/** One context per request, whichever road it came by. Errors: UNAUTHORIZED. */
export function contextMaker(services: Services, db: Database, { trustProxy }: Pick<Config, 'trustProxy'>) {
  return ({ headers, address, requestId }: RequestFacts): RequestContext | Promise<RequestContext> => {
    const caller = trustProxy
      ? // The last is the proxy's own word; what stands before it may be the caller's.
        String(headers['x-forwarded-for'] ?? '')
          .split(',')
          .at(-1)
          ?.trim() || address
      : address;
    const make = (viewer: Viewer | null): RequestContext => ({
      viewer,
      requestId: requestId ?? String(headers['x-request-id'] ?? ''),
      address: caller,
      db,
      services,
    });
    const viewer = services.auth.viewerOf(headers.authorization as string | undefined, caller);
    return viewer instanceof Promise ? viewer.then(make) : make(viewer);
  };
}
