import type { RequestContext, Services, Transport } from '../gateway/context.ts';
import type { Viewer } from '../platform/auth/viewer.ts';
import { ServiceError } from '../platform/errors.ts';
import type { RequestRates } from '../platform/limits/request-rates.ts';
import type { Database } from '../platform/storage/database.ts';

interface RequestFacts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly address: string;
  readonly url: string;
  readonly requestId?: string;
  /** Whether it belongs to a request that was counted before, such as a further page of its response. Default: false. */
  readonly isContinued?: boolean;
}

export interface ContextMakerOptions {
  readonly trustProxy: boolean;
  readonly rates: Pick<RequestRates, 'request'>;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
}

/** Makes one context per request, over every transport. Errors: UNAUTHORIZED, RATE_LIMITED. */
export function contextMaker(
  services: Services,
  db: Database,
  { trustProxy, rates, via = 'GRAPHQL' }: ContextMakerOptions,
) {
  return ({
    headers,
    address,
    requestId,
    isContinued = false,
  }: RequestFacts): RequestContext | Promise<RequestContext> => {
    const caller = callerOf(headers, address, trustProxy);
    const id = requestId ?? String(headers['x-request-id'] ?? '');
    const make = (viewer: Viewer | null): RequestContext => {
      const context = { viewer, requestId: id, address: caller, via, db, services };
      if (!isContinued) rates.request(context);
      return context;
    };
    const refuse = (error: unknown): never => {
      const isUnknown = error instanceof ServiceError && error.code === 'UNAUTHORIZED';
      if (isUnknown) {
        services.audit.unknownCredential({ address: caller, requestId: id, via });
        rates.request({ viewer: null, address: caller });
      }
      throw error;
    };
    let viewer: Viewer | null | Promise<Viewer>;
    try {
      viewer = services.auth.viewerOf(headers.authorization as string | undefined, caller);
    } catch (error) {
      return refuse(error);
    }
    return viewer instanceof Promise ? viewer.then(make, refuse) : make(viewer);
  };
}

/** Address of the caller; `address` is that of the connection. */
export function callerOf(headers: RequestFacts['headers'], address: string, trustProxy: boolean): string {
  if (!trustProxy) return address;
  // The last is the proxy's own word; what stands before it may be the caller's.
  const told = String(headers['x-forwarded-for'] ?? '');
  return told.split(',').at(-1)?.trim() || address;
}
