import { randomUUID } from 'node:crypto';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The value of X-Request-Id, or a new id if it is missing or invalid. */
export function requestIdOf(given: string | readonly string[] | null | undefined): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}
