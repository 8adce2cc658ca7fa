import { randomUUID } from 'node:crypto';

const WELL_FORMED = /^[\w.:/+=-]{1,128}$/;

/** The caller's `X-Request-Id` if it is valid for logs and header fields, otherwise a new id. */
export const requestIdOf = (sent: unknown): string =>
  typeof sent === 'string' && WELL_FORMED.test(sent) ? sent : randomUUID();

/** Sets the header field X-Request-Id of a request to a valid id, and returns it. */
export function identify({ headers }: { readonly headers: Record<string, unknown> }): string {
  const id = requestIdOf(headers['x-request-id']);
  headers['x-request-id'] = id;
  return id;
}
