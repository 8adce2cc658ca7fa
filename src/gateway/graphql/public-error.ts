/**
 * The one place that decides what a caller reads of an error, for both roads of GraphQL over HTTP, WebSocket, SSE and REST.
 *
 * A ServiceError is shown as it is. What is wrong with the request itself (syntax, validation, variables, arguments) is
 * INVALID. Everything else is a bug: the caller gets INTERNAL_ERROR with the request id, the log gets the whole error, once.
 */
import { type ExecutionResult, GraphQLError } from 'graphql';
import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { isImpossibleText } from '../../platform/storage/prisma-errors.ts';
import { withoutValue } from './variables.ts';

export interface ErrorLog {
  error(fields: object, message: string): void;
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
}

/** Characters of a message of graphql-js, which repeats names of any length. */
const MAX_MESSAGE = 2_000;

export interface ErrorPlace {
  readonly requestId: string;
  readonly log: ErrorLog;
}

export function publicError(error: unknown, { requestId, log }: ErrorPlace): PublicError {
  const place = error instanceof GraphQLError ? placeOf(error) : {};
  const origin = originOf(error);
  if (origin instanceof ServiceError) return { message: origin.message, ...place, extensions: origin.extensions };
  if (origin instanceof Error && isAboutRequest(error, origin)) {
    const message = withoutValue(origin.message);
    const shown = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
    return { message: shown, ...place, extensions: { code: 'INVALID' } };
  }
  if (isImpossibleText(origin)) {
    return { message: 'No text may hold the character U+0000', ...place, extensions: { code: 'INVALID' } };
  }
  log.error({ err: origin, requestId, ...(place.path && { path: place.path.join('.') }) }, 'Internal error');
  return { message: 'Internal error', ...place, extensions: { code: 'INTERNAL_ERROR', info: { requestId } } };
}

export function publicResult({ data, errors }: ExecutionResult, place: ErrorPlace): PublicResult {
  if (errors === undefined || errors.length === 0) return { data };
  if (data === undefined) return { errors: errors.map((error) => publicError(error, place)) };
  return { errors: inOrder(errors, data).map((error) => publicError(error, place)), data };
}

/** The status of a result whose request failed as a whole. */
export function requestErrorStatus(errors: readonly PublicError[]): number {
  return Math.max(...errors.map(({ extensions }) => ERROR_STATUS[extensions.code]));
}

function placeOf({ locations, path }: GraphQLError): Pick<PublicError, 'locations' | 'path'> {
  return { ...(locations?.length && { locations }), ...(path && { path }) };
}

/** What was thrown, below what the executors and libraries wrapped around it. */
function originOf(error: unknown): unknown {
  let origin = error;
  // Ten: an error that names itself as its origin must not hold us.
  for (let i = 0; i < 10 && origin instanceof GraphQLError && origin.originalError; i++) origin = origin.originalError;
  return origin;
}

function isAboutRequest(error: unknown, origin: Error): boolean {
  // Pothos' word for arguments it cannot use: a cursor, a global id, a negative `first`.
  if (origin.name === 'PothosValidationError') return true;
  if (!(origin instanceof GraphQLError)) return false;
  const path = error instanceof GraphQLError ? error.path : undefined;
  // Before execution there is no path. After it, graphql-js has one error of the request left: an argument whose
  // variable turned out null. The rest ("Cannot return null for non-nullable field") are faults of resolvers.
  return path === undefined || origin.message.startsWith('Argument "');
}

type Path = readonly (string | number)[];

/**
 * The order of the response, and one error for each null: which of several failing siblings took the parent away, and how
 * many were noticed, depends on the executor and on timing.
 */
function inOrder(errors: readonly GraphQLError[], data: ExecutionResult['data']): readonly GraphQLError[] {
  if (errors.length === 1) return errors;
  const byPlace = new Map<string, { readonly place: Path; readonly error: GraphQLError }>();
  for (const error of errors) {
    const place = nullAt(data, error.path ?? []);
    const key = JSON.stringify(place);
    if (!byPlace.has(key)) byPlace.set(key, { place, error });
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
  return [...byPlace.values()].sort((a, b) => order(a.place, b.place)).map(({ error }) => error);
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
