/**
 * Converts errors into the form that callers may read. A ServiceError is returned unchanged; errors in the request
 * itself are INVALID; a database that does not respond or cannot store is DATABASE_UNAVAILABLE. Any other error is a
 * bug: the caller gets INTERNAL_ERROR with the request id, and the error is logged once.
 */
import { type ExecutionResult, GraphQLError } from 'graphql';
import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { diskFaultOf } from '../../platform/storage/folder/disk-faults.ts';
import { isDatabaseUnavailable, isImpossibleText } from '../../platform/storage/prisma-errors.ts';
import type { RequestContext } from '../context.ts';
import type { OperationCost } from './cost.ts';
import { withoutValue } from './variables.ts';

export interface ErrorLog {
  error(fields: object, message: string): void;
  /** Counts an error that a caller gets. Default: nothing counts it. */
  count?(code: ErrorCode): void;
}

/** An operation, by its first root field. */
export interface RanOperation {
  readonly name: string;
  readonly kind: string;
}

export interface OperationLog extends ErrorLog {
  /** Notes an operation that has ended, or a subscription that has begun. */
  ran?(operation: RanOperation, milliseconds: number, context: RequestContext): void;
}

export interface PublicError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: ErrorCode; readonly info?: Readonly<Record<string, unknown>> };
}

export interface PublicResult {
  readonly errors?: readonly PublicError[];
  readonly data?: ExecutionResult['data'];
  readonly extensions?: { readonly cost: OperationCost };
}

/** Maximum length of a message of graphql-js, which repeats names of any length. */
const MAX_MESSAGE = 2_000;

export interface ErrorContext {
  readonly requestId: string;
  readonly log: ErrorLog;
}

export function publicError(error: unknown, context: ErrorContext): PublicError {
  const shown = shownError(error, context);
  context.log.count?.(shown.extensions.code);
  return shown;
}

function shownError(error: unknown, { requestId, log }: ErrorContext): PublicError {
  const location = error instanceof GraphQLError ? locationOf(error) : {};
  const origin = originOf(error);
  if (origin instanceof ServiceError) return { message: origin.message, ...location, extensions: origin.extensions };
  if (origin instanceof Error && isAboutRequest(error, origin)) {
    const message = withoutValue(origin.message);
    const shown = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
    return { message: shown, ...location, extensions: { code: 'INVALID' } };
  }
  if (isImpossibleText(origin)) {
    const message = 'A text of the request contains the character U+0000: remove it';
    return { message, ...location, extensions: { code: 'INVALID' } };
  }
  const diskFault = diskFaultOf(origin);
  if (diskFault !== null) {
    log.error({ err: origin, requestId }, 'The database cannot store changes');
    const message = `The database cannot store changes: ${diskFault}`;
    return { message, ...location, extensions: { code: 'DATABASE_UNAVAILABLE', info: { requestId } } };
  }
  if (isDatabaseUnavailable(origin)) {
    log.error({ err: origin, requestId }, 'The database does not respond');
    const message = 'The database does not respond; a change may have been made: read it before you try again';
    return { message, ...location, extensions: { code: 'DATABASE_UNAVAILABLE', info: { requestId } } };
  }
  log.error({ err: origin, requestId, ...(location.path && { path: location.path.join('.') }) }, 'Internal error');
  return { message: 'Internal error', ...location, extensions: { code: 'INTERNAL_ERROR', info: { requestId } } };
}

export function publicResult({ data, errors }: ExecutionResult, context: ErrorContext): PublicResult {
  if (errors === undefined || errors.length === 0) return { data };
  if (data === undefined) return { errors: errors.map((error) => publicError(error, context)) };
  return { errors: inOrder(errors, data).map((error) => publicError(error, context)), data };
}

export function requestErrorStatus(errors: readonly PublicError[]): number {
  return Math.max(...errors.map(({ extensions }) => ERROR_STATUS[extensions.code]));
}

function locationOf({ locations, path }: GraphQLError): Pick<PublicError, 'locations' | 'path'> {
  return { ...(locations?.length && { locations }), ...(path && { path }) };
}

function originOf(error: unknown): unknown {
  let origin = error;
  // At most ten levels: an error may reference itself as its origin.
  for (let i = 0; i < 10 && origin instanceof GraphQLError && origin.originalError; i++) origin = origin.originalError;
  return origin;
}

function isAboutRequest(error: unknown, origin: Error): boolean {
  // Pothos throws it for invalid arguments: a cursor, a global id, a negative `first`.
  if (origin.name === 'PothosValidationError') return true;
  if (!(origin instanceof GraphQLError)) return false;
  const path = error instanceof GraphQLError ? error.path : undefined;
  // Errors before execution have no path. During execution, graphql-js reports one more error of the request: an
  // argument whose variable is null. The others ("Cannot return null for non-nullable field") are bugs of resolvers.
  return path === undefined || origin.message.startsWith('Argument "');
}

type Path = readonly (string | number)[];

/**
 * Sorts errors in the order of the response and returns one error per null. Otherwise the errors would depend on the
 * executor and on timing.
 */
function inOrder(errors: readonly GraphQLError[], data: ExecutionResult['data']): readonly GraphQLError[] {
  if (errors.length === 1) return errors;
  const byNull = new Map<string, { readonly path: Path; readonly error: GraphQLError }>();
  for (const error of errors) {
    const path = nullAt(data, error.path ?? []);
    const key = JSON.stringify(path);
    if (!byNull.has(key)) byNull.set(key, { path, error });
  }
  const order = (a: Path, b: Path): number => {
    let parent: unknown = data;
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const [left, right] = [a[i], b[i]];
      if (typeof left === 'number' && typeof right === 'number' && left !== right) return left - right;
      if (left !== right && typeof parent === 'object' && parent !== null) {
        const keys = Object.keys(parent);
        return keys.indexOf(String(left)) - keys.indexOf(String(right));
      }
      parent = child(parent, left);
    }
    return a.length - b.length;
  };
  return [...byNull.values()].sort((a, b) => order(a.path, b.path)).map(({ error }) => error);
}

function nullAt(data: unknown, path: Path): Path {
  let value = data;
  for (let i = 0; i < path.length; i++) {
    if (value === null || value === undefined) return path.slice(0, i);
    value = child(value, path[i]);
  }
  return path;
}

const child = (value: unknown, key: string | number | undefined): unknown =>
  typeof value === 'object' && value !== null && key !== undefined ? Reflect.get(value, key) : undefined;
