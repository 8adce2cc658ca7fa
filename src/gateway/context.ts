import type { Viewer } from '../platform/auth/viewer.ts';
import type { Database } from '../platform/storage/database.ts';

/** How a request reached the service, as the audit log records it. */
export type Transport = 'GRAPHQL' | 'REST' | 'MQTT' | 'OPERATOR' | 'SERVICE';

/**
 * The services of the domains by name. The gateway knows no domain: `app/services.ts` adds the members to this interface
 * (declaration merging).
 */
// biome-ignore lint/suspicious/noEmptyInterface: app/services.ts adds the members.
export interface Services {}

/** What a resolver can use. Each request has one context; a subscription has its own until it ends. */
export interface RequestContext {
  /**
   * `null` if the request has no credentials. Unknown or expired credentials are refused earlier (401). A mutation that changes
   * the caller's own rights replaces the viewer, so that its payload shows what the caller may see afterwards.
   */
  viewer: Viewer | null;
  readonly requestId: string;
  /** Address of the caller, for rate limits. */
  readonly address: string;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
  readonly db: Database;
  readonly services: Services;
}
