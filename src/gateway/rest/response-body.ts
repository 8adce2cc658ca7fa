import type { ExecutionResult } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';
import { boundedJson, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../graphql/response-limit.ts';
import type { PreparedRoute } from './prepared-route.ts';
import type { RestRequest } from './rest-request.ts';
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
  if (Array.isArray(total)) return total.length;
  return typeof total === 'number' ? total : undefined;
}

/** A request whose caller is authorized and whose input is checked. */
export interface Call {
  readonly rest: RestRequest;
  readonly prepared: PreparedRoute;
  readonly input: RouteInput;
}

/**
 * Returns the part of a GraphQL result that is the body of the REST response: the value at the first path of `picks`
 * that has one. Errors: NOT_FOUND if no path has a value, or if the list with the requested single item is empty.
 */
export function bodyOf(call: Call, { data }: ExecutionResult): unknown {
  const { picks, route } = call.prepared;
  for (const pick of picks ?? []) {
    const body = follow(data, pick);
    if (body === null || body === undefined || (isOfSingleItem(call) && isEmptyList(body))) continue;
    return body;
  }
  const message = route.notFound?.(call.input) ?? `${route.summary}: the requested object does not exist`;
  throw new ServiceError('NOT_FOUND', message);
}

const isOfSingleItem = ({ prepared: { route }, input }: Call): boolean =>
  route.singleBy !== undefined && input.query[route.singleBy] !== undefined;

const isEmptyList = (body: unknown): boolean => Array.isArray(body) && body.length === 0;

export function textOf(call: Call, result: ExecutionResult): string {
  const { picks, route, versions, write } = call.prepared;
  if (picks === null) return route.pick === null ? '{}' : '';
  const body = bodyOf(call, result);
  const { nameKey } = route;
  const isOfNames = call.input.query.verbose === false && !isOfSingleItem(call);
  if (nameKey !== undefined && isOfNames && Array.isArray(body)) {
    return boundedJson(body.map((item: Record<string, unknown>) => item[nameKey]));
  }
  versions[call.rest.revision].trim?.(body);
  return write(body);
}

/** Errors: NOT_FOUND, ResponseTooLarge. */
export function wholeText(call: Call, result: ExecutionResult): string {
  try {
    const text = textOf(call, result);
    // A UTF-16 code unit has at most three bytes in UTF-8.
    if (text.length * 3 > MAX_RESPONSE_BYTES && Buffer.byteLength(text) > MAX_RESPONSE_BYTES) {
      throw new ResponseTooLarge();
    }
    return text;
  } catch (error) {
    throw error instanceof ResponseTooLarge ? new ResponseTooLarge(call.prepared.field.isMutation) : error;
  }
}
