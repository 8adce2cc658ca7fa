import type { Services } from '../app/services.ts';
import type { AuditWay } from '../domains/audit/audit-event.ts';
import type { Viewer } from '../platform/auth/viewer.ts';
import type { Database } from '../platform/storage/database.ts';

/** What a resolver may reach. One per request; a subscription keeps its own for as long as it lives. */
export interface RequestContext {
  /**
   * Null: no credentials were sent. Credentials that are unknown or expired never get this far (401). Replaced by a mutation
   * that changes the caller's own rights, so that its payload shows what the caller may see now.
   */
  viewer: Viewer | null;
  readonly requestId: string;
  /** Address of the caller, for throttling. */
  readonly address: string;
  /** How it came. Default: GRAPHQL. */
  readonly via?: AuditWay;
  readonly db: Database;
  readonly services: Services;
}
