import type { Transport } from '../../gateway/context.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';

export const ACTOR_KINDS = ['USER', 'TOKEN', 'OPERATOR', 'SERVICE', 'NOBODY'] as const;
export const AUDIT_RESULTS = ['DONE', 'REFUSED', 'FAILED', 'UNKNOWN'] as const;

export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** Who asks, and from where: what the context of a request tells. */
export interface AuditCaller {
  readonly viewer: Viewer | null;
  readonly address: string;
  readonly requestId: string;
  /** Default: GRAPHQL. */
  readonly via?: Transport;
}

/** Who did it, or tried to. */
export interface AuditActor {
  readonly kind: (typeof ACTOR_KINDS)[number];
  readonly id: string | null;
  /** E-mail address of a person, name of a token. */
  readonly name: string | null;
  /** Of a token: the e-mail address of the person who issued it. */
  readonly issuer: string | null;
}

/** What it was done to. */
export interface AuditTarget {
  /** As `project`, `broker`, `user`, `accessClient`. */
  readonly kind: string;
  /** An id of the graph; of connected clients and bridges the name that the broker knows them by. Null: it was never made. */
  readonly id: string | null;
}

/** Something that happened, told to `AuditService.record`. Secrets in `before` and `after` are masked there, by the names of their keys. */
export interface AuditFacts {
  /** The name of a mutation or of a field that was read, or one of the same form for what is none. */
  readonly operation: string;
  /** Default: this service by itself. */
  readonly actor?: AuditActor;
  /** Of the caller; default: none. */
  readonly address?: string;
  readonly requestId?: string;
  readonly via?: Transport;
  readonly projectId?: string | null;
  readonly brokerId?: string | null;
  readonly target?: AuditTarget | null;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly result: AuditResult;
  /** Error code, unless DONE. */
  readonly code?: string | null;
}

export const SERVICE_ACTOR: AuditActor = { kind: 'SERVICE', id: null, name: null, issuer: null };
export const NOBODY: AuditActor = { kind: 'NOBODY', id: null, name: null, issuer: null };

export function actorOf(viewer: Viewer | null): AuditActor {
  if (viewer === null) return NOBODY;
  const { kind, id, name, issuer = null } = viewer;
  // What is made once for several who follow the same is nobody's: see sharedViewer.
  return { kind, id: id || null, name: name || null, issuer };
}
