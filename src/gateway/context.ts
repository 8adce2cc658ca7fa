import type { Viewer } from '../platform/auth/viewer.ts';
import type { Database } from '../platform/storage/database.ts';

/** The interface by which a request reached the service, as the audit log records it. */
export type Transport = 'GRAPHQL' | 'REST' | 'MQTT' | 'OPERATOR' | 'SERVICE';

/**
 * The services of the domains by name. The gateway knows no domain: `app/services.ts` adds the members to this
 * interface (declaration merging).
 */
// biome-ignore lint/suspicious/noEmptyInterface: app/services.ts adds the members.
export interface Services {}

/** Context value of resolvers: one per request, and one for the lifetime of a subscription. */
export interface RequestContext {
  /**
   * The caller. `null` if the request has no credentials; unknown or expired credentials are refused before (401). A
   * mutation that changes the caller's own permissions replaces the viewer, so that its payload shows what the caller
   * may see afterwards.
   */
  viewer: Viewer | null;
  readonly requestId: string;
  /** Network address of the caller, for rate limits. */
  readonly address: string;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
  readonly db: Database;
  readonly services: Services;
}
