import { ERROR_STATUS, type ErrorCode, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { isImpossibleText } from '../../platform/storage/prisma-errors.ts';
import type { AuditCaller, AuditResult, AuditTarget } from './audit-event.ts';

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
