import type { AuditWay } from './audit/audit-event.ts';
import type { Viewer } from './auth/viewer.ts';
import type { Config } from './config.ts';
import type { RequestContext } from './context.ts';
import { ServiceError } from './errors.ts';
import type { Services } from './services.ts';
import type { Database } from './storage/database.ts';

interface RequestFacts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly address: string;
  readonly url: string;
  readonly requestId?: string;
}

/** One context per request, whichever road it came by. Errors: UNAUTHORIZED. */
export function contextMaker(
  services: Services,
  db: Database,
  { trustProxy }: Pick<Config, 'trustProxy'>,
  via: AuditWay = 'GRAPHQL',
) {
  return ({ headers, address, requestId }: RequestFacts): RequestContext | Promise<RequestContext> => {
    const caller = callerOf(headers, address, trustProxy);
    const id = requestId ?? String(headers['x-request-id'] ?? '');
    const make = (viewer: Viewer | null): RequestContext => ({
      viewer,
      requestId: id,
      address: caller,
      via,
      db,
      services,
    });
    const refuse = (error: unknown): never => {
      const isUnknown = error instanceof ServiceError && error.code === 'UNAUTHORIZED';
      if (isUnknown) services.audit.unknownCredential({ address: caller, requestId: id, via });
      throw error;
    };
    try {
      const viewer = services.auth.viewerOf(headers.authorization as string | undefined, caller);
      return viewer instanceof Promise ? viewer.then(make, refuse) : make(viewer);
    } catch (error) {
      return refuse(error);
    }
  };
}

/** Address of the caller; `address` is that of the connection. */
export function callerOf(headers: RequestFacts['headers'], address: string, trustProxy: boolean): string {
  if (!trustProxy) return address;
  // The last is the proxy's own word; what stands before it may be the caller's.
  const told = String(headers['x-forwarded-for'] ?? '');
  return told.split(',').at(-1)?.trim() || address;
}
