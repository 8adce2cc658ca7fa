import type { Viewer } from '../platform/auth/viewer.ts';
import type { Database } from '../platform/storage/database.ts';

/** The interface by which a request reached the service, as the audit log records it. */
export type Transport = 'GRAPHQL' | 'REST' | 'MQTT' | 'OPERATOR' | 'SERVICE';

/** Services of the domains by name. `app/services.ts` adds the members (declaration merging). */
// biome-ignore lint/suspicious/noEmptyInterface: app/services.ts adds the members.
export interface Services {}

/** Context value of resolvers: one per request, and one for the lifetime of a subscription. */
export interface RequestContext {
  /** `null` without credentials. A mutation that changes the caller's own permissions replaces it, for its payload. */
  viewer: Viewer | null;
  readonly requestId: string;
  readonly address: string;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
  readonly db: Database;
  readonly services: Services;
}
