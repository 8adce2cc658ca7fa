import { ERROR_STATUS, type ErrorCode, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { isImpossibleText } from '../../platform/storage/prisma-errors.ts';
import type { UnchainedEntry } from './audit-chain.ts';
import { type AuditCaller, type AuditFacts, type AuditResult, type AuditTarget, SERVICE_ACTOR } from './audit-event.ts';
import { withoutOwnSecrets } from './secret-masking.ts';

/** Maximum length of texts that callers choose. Longer ones are truncated. */
export const MAX_NAME = 300;

/** Creates an entry. `before` and `after` must contain no secrets. */
export function entryOf({ operation, actor = SERVICE_ACTOR, target = null, ...facts }: AuditFacts): UnchainedEntry {
  return {
    id: newId('auditEvent'),
    at: new Date(),
    actorKind: actor.kind,
    actorId: actor.id,
    actorName: plain(actor.name),
    actorIssuer: plain(actor.issuer),
    address: plain(facts.address) ?? '',
    requestId: plain(facts.requestId) ?? '',
    via: facts.via ?? 'SERVICE',
    operation,
    projectId: facts.projectId ?? null,
    brokerId: facts.brokerId ?? null,
    targetKind: plain(target?.kind),
    // Callers may send a secret by mistake where its id belongs.
    targetId: plain(target?.id == null ? null : withoutOwnSecrets(target.id)),
    before: jsonOf(facts.before),
    after: jsonOf(facts.after),
    result: facts.result,
    code: facts.code ?? null,
  };
}

export const jsonOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value);

/** Replaces U+0000 and lone surrogates, which PostgreSQL refuses. */
function plain(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  return Buffer.from(text.slice(0, MAX_NAME)).toString().replaceAll('\0', '\ufffd');
}

export function codeOf(error: unknown): ErrorCode {
  if (error instanceof ServiceError) return error.code;
  const isInput = isImpossibleText(error) || (error instanceof Error && error.name === 'PothosValidationError');
  return isInput ? 'INVALID' : 'INTERNAL_ERROR';
}

/** REFUSED if the caller lacks a right. For all but root administrators, NOT_FOUND may mean that, too. */
export function resultOf(code: ErrorCode, { viewer }: AuditCaller): AuditResult {
  const status: number = ERROR_STATUS[code];
  if (status === 401 || status === 403 || status === 429) return 'REFUSED';
  return status === 404 && viewer?.isRootAdmin !== true ? 'REFUSED' : 'FAILED';
}

interface RefusedRead {
  readonly code: ErrorCode;
  /** The existing but invisible object if the caller received NOT_FOUND. */
  readonly hidden: AuditTarget | null;
}

export function refusedReadOf(error: unknown): RefusedRead | null {
  if (!(error instanceof ServiceError)) return null;
  if (error instanceof OutOfSight) return { code: error.code, hidden: error.hidden };
  return error.status === 401 || error.status === 403 ? { code: error.code, hidden: null } : null;
}

interface Outcome {
  readonly text: string;
  readonly isNothing: boolean;
  readonly code: ErrorCode;
}

interface Recorded {
  /** The previous values of objects that are not in the database. */
  readonly before: object | null;
  /** Added to the input. */
  readonly after: object | null;
}

/** The members of a payload that are meant for the audit. */
export function recordedIn(payload: unknown): Recorded {
  const { before, after } = (payload ?? {}) as Readonly<Record<string, unknown>>;
  return { before: typeof before === 'object' ? before : null, after: typeof after === 'object' ? after : null };
}

/** The outcome of a payload whose parts may fail separately. `null` if no part failed. */
export function outcomeOf(payload: unknown): Outcome | null {
  if (typeof payload !== 'object' || payload === null) return null;
  const { outcome, report, outcomes, results } = payload as Readonly<Record<string, unknown>>;
  const code = 'BROKER_REJECTED';
  if (typeof outcome === 'string') return { text: outcome, isNothing: outcome === 'REJECTED', code };
  if (typeof report === 'object' && report !== null) return outcomeOf(report);
  const parts = outcomes ?? results;
  if (!Array.isArray(parts)) return null;
  const failed = parts.filter((part) => typeof part === 'object' && part !== null && part.error != null).length;
  if (failed === 0) return null;
  return { text: `${failed} of ${parts.length} failed`, isNothing: failed === parts.length, code };
}
