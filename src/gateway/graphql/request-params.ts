import { ServiceError } from '../../platform/errors.ts';
import { ExactNumber } from '../../platform/text/exact-number.ts';
import type { Variables } from './document.ts';

export interface GraphqlParams {
  readonly query: string;
  readonly variables?: Variables | null;
  readonly operationName?: string | null;
  /** `cost: true`: the response states what the operation costs. */
  readonly extensions?: Variables | null;
}

/** The parameters of one operation. Errors: INVALID if their types are wrong. Other keys are ignored. */
export function readParams(body: unknown): GraphqlParams {
  if (Array.isArray(body)) {
    throw new ServiceError(
      'INVALID',
      'The body is an array: batches are not supported, send one operation per request',
    );
  }
  if (!isRecord(body)) throw new ServiceError('INVALID', 'The body must be a JSON object');
  const { query, variables, operationName, extensions } = body as Record<string, unknown>;
  if (query === undefined && isPersisted(extensions)) {
    // The client then sends the text. Clients of Apollo and urql compare this message.
    throw new ServiceError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  }
  if (typeof query !== 'string') throw new ServiceError('INVALID', '"query" must be a string');
  if (!isObject(variables)) throw new ServiceError('INVALID', '"variables" must be an object');
  if (!isObject(extensions)) throw new ServiceError('INVALID', '"extensions" must be an object');
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') {
    throw new ServiceError('INVALID', '"operationName" must be a string');
  }
  return {
    query,
    variables: variables as Variables | null,
    // Some clients send an empty name for an operation without a name.
    operationName: operationName || null,
    extensions: extensions as Variables | null,
  };
}

const isObject = (value: unknown): boolean => value === undefined || value === null || isRecord(value);

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

const isPersisted = (extensions: unknown): boolean => isRecord(extensions) && 'persistedQuery' in extensions;
