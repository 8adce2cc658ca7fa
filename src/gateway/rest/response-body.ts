import type { ExecutionResult } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';
import { boundedJson, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../graphql/response-limit.ts';
import type { Exchange } from './exchange.ts';
import type { PreparedRoute } from './prepared-route.ts';
import type { RouteInput } from './route.ts';

export function follow(data: unknown, steps: readonly string[]): unknown {
  let value = data;
  for (const step of steps) {
    if (value === null || value === undefined) return value;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

export function totalOf(data: unknown, steps: readonly string[] | null): number | undefined {
  const total = steps === null ? undefined : follow(data, steps);
  return typeof total === 'number' ? total : undefined;
}

/** Maximum UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The picked part of a result. Errors: NOT_FOUND if no pick leads to a value. */
export function bodyOf(
  { picks, route }: PreparedRoute,
  input: RouteInput,
  { data }: Pick<ExecutionResult, 'data'>,
): unknown {
  for (const pick of picks ?? []) {
    const body = follow(data, pick);
    if (body !== null && body !== undefined) return body;
  }
  throw new ServiceError(
    'NOT_FOUND',
    route.notFound?.(input) ?? `${route.summary}: the requested object does not exist`,
  );
}

export function textOf(
  { revision }: Exchange,
  prepared: PreparedRoute,
  input: RouteInput,
  result: ExecutionResult,
): string {
  const { picks, route, versions, write } = prepared;
  if (picks === null) return route.pick === null ? '{}' : '';
  const body = bodyOf(prepared, input, result);
  const { nameKey, singleBy = '' } = route;
  if (
    nameKey !== undefined &&
    input.query.verbose === false &&
    input.query[singleBy] === undefined &&
    Array.isArray(body)
  ) {
    return boundedJson(body.map((item: Record<string, unknown>) => item[nameKey]));
  }
  versions[revision].trim?.(body);
  return write(body);
}

/** The body as JSON that is the whole response. Errors: NOT_FOUND, ResponseTooLarge. */
export function wholeText(
  exchange: Exchange,
  prepared: PreparedRoute,
  input: RouteInput,
  result: ExecutionResult,
): string {
  try {
    const text = textOf(exchange, prepared, input, result);
    if (text.length * MAX_BYTES_PER_UNIT > MAX_RESPONSE_BYTES && Buffer.byteLength(text) > MAX_RESPONSE_BYTES) {
      throw new ResponseTooLarge();
    }
    return text;
  } catch (error) {
    throw error instanceof ResponseTooLarge ? new ResponseTooLarge(prepared.field.isMutation) : error;
  }
}
