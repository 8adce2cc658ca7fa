import type { Transport } from '../../gateway/context.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';

export const ACTOR_KINDS = ['USER', 'TOKEN', 'OPERATOR', 'SERVICE', 'NOBODY'] as const;
export const AUDIT_RESULTS = ['DONE', 'REFUSED', 'FAILED', 'UNKNOWN'] as const;

export type AuditResult = (typeof AUDIT_RESULTS)[number];

export interface AuditCaller {
  readonly viewer: Viewer | null;
  readonly address: string;
  readonly requestId: string;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
}

interface AuditActor {
  readonly kind: (typeof ACTOR_KINDS)[number];
  readonly id: string | null;
  readonly name: string | null;
  readonly issuer: string | null;
}

export interface AuditTarget {
  readonly kind: string;
  /** Id in the graph; for connected clients and bridges the name on their broker. `null` if it was not created. */
  readonly id: string | null;
}

/** `AuditService.record` masks secrets in `before` and `after` by the names of their keys. */
export interface AuditFacts {
  readonly operation: string;
  readonly actor?: AuditActor;
  readonly address?: string;
  readonly requestId?: string;
  readonly via?: Transport;
  readonly projectId?: string | null;
  readonly brokerId?: string | null;
  readonly target?: AuditTarget | null;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly result: AuditResult;
  readonly code?: string | null;
}

export const SERVICE_ACTOR: AuditActor = { kind: 'SERVICE', id: null, name: null, issuer: null };
export const NOBODY: AuditActor = { kind: 'NOBODY', id: null, name: null, issuer: null };

export function actorOf(viewer: Viewer | null): AuditActor {
  if (viewer === null) return NOBODY;
  const { kind, id, name, issuer = null } = viewer;
  // A shared viewer has an empty id and name: see `sharedViewer`.
  return { kind, id: id || null, name: name || null, issuer };
}
