import type { RequestContext, Services, Transport } from '../gateway/context.ts';
import type { SessionCookie } from '../gateway/http/session-cookie.ts';
import type { Viewer } from '../platform/auth/viewer.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RequestRates } from '../platform/limits/request-rates.ts';
import type { Database } from '../platform/storage/database.ts';

interface RequestFacts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly address: string;
  readonly requestId?: string;
  /** Whether the request is part of a counted request, such as another page of its response. Default: false. */
  readonly isContinued?: boolean;
}

interface ContextMakerOptions {
  readonly trustProxy: boolean;
  readonly rates: Pick<RequestRates, 'request'>;
  readonly cookie: SessionCookie;
  readonly via?: Transport;
}

/** Creates the context of each request, for all transports. Errors: UNAUTHORIZED, NOT_ALLOWED, RATE_LIMITED. */
export function contextMaker(
  services: Services,
  db: Database,
  { trustProxy, rates, cookie, via = 'GRAPHQL' }: ContextMakerOptions,
) {
  return ({ headers, address, requestId, isContinued = false }: RequestFacts) => {
    const caller = callerOf(headers['x-forwarded-for'], address, trustProxy);
    const id = requestId ?? String(headers['x-request-id'] ?? '');
    const make = (viewer: Viewer | null): RequestContext => {
      const context = { viewer, requestId: id, address: caller, via, db, services };
      if (!isContinued) rates.request(context);
      return context;
    };
    const refuse = (error: unknown): never => {
      const code = error instanceof ServiceError ? error.code : null;
      if (code === 'UNAUTHORIZED') services.audit.unknownCredential({ address: caller, requestId: id, via });
      if (code === 'UNAUTHORIZED' || code === 'NOT_ALLOWED') rates.request({ viewer: null, address: caller });
      throw error;
    };
    let viewer: Viewer | null | Promise<Viewer>;
    try {
      viewer = services.auth.viewerOf(cookie.authorizationOf(headers), caller);
    } catch (error) {
      return refuse(error);
    }
    return viewer instanceof Promise ? viewer.then(make, refuse) : make(viewer);
  };
}

/** The address of the caller. `forwardedFor` is the header field X-Forwarded-For, `address` that of the connection. */
export function callerOf(forwardedFor: unknown, address: string, trustProxy: boolean): string {
  if (!trustProxy) return address;
  // The proxy appends the last address. The caller may have sent the addresses before it.
  const forwarded = String(forwardedFor ?? '');
  return forwarded.split(',').at(-1)?.trim() || address;
}
