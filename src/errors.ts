/**
 * Every deliberate failure has one of these codes: the same code in GraphQL (`extensions.code`) and REST (`code`),
 * and the HTTP status that REST answers with it.
 */
export const ERROR_STATUS = {
  /** The input breaks the schema or a rule; `info.issues` lists `{ path, reason }`. */
  INVALID: 400,
  /** A unique name is taken. */
  ALREADY_EXISTS: 400,
  /** The object cannot be changed or removed while something depends on it. */
  IN_USE: 400,
  /** No root administrator would be left who can sign in. */
  LAST_ADMINISTRATOR: 400,
  /** The broker understood the command and refused it. */
  BROKER_REJECTED: 400,
  /** No credentials, or credentials that are unknown, expired or revoked. */
  UNAUTHORIZED: 401,
  /** The password was right, and the account wants a code of its second factor as well. */
  SECOND_FACTOR_REQUIRED: 401,
  /** The caller is known and its role does not allow the operation. */
  NOT_ALLOWED: 403,
  /** Not there, or not in a project that the caller can see. */
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  /** The broker has no such feature; `info` says what would help. */
  NOT_SUPPORTED_BY_BROKER: 405,
  TOO_LARGE: 413,
  /** Too many attempts, or a document that costs too much; `info.retryAfterSeconds` where waiting helps. */
  RATE_LIMITED: 429,
  /** A bug on our side; the log has it whole under the request id. */
  INTERNAL_ERROR: 500,
  /** No connection to the broker. */
  BROKER_UNREACHABLE: 503,
  /** The broker is connected and did not answer in time. */
  BROKER_TIMEOUT: 503,
  /** The provider or the directory that people sign in at cannot be asked now. */
  SIGN_IN_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * One reason why an input is INVALID: where and why. Callers read whole paths: in the graph from an argument, with dots
 * (`input.changes.3.createAccessRole.acls.0.topic`), or within a document that is given as one value as a JSON pointer; in REST JSON
 * pointers into the body (`/acls/0/topic`), and names of query parameters.
 */
export interface InputIssue {
  readonly path: string;
  readonly reason: string;
}

export interface ServiceErrorOptions {
  readonly info?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The only error that a caller sees as it is. The message is for people and holds no secret. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly info: Readonly<Record<string, unknown>> | undefined;
  /** GraphQL executors copy this to the error they send, so no layer has to. */
  readonly extensions: { readonly code: ErrorCode; readonly info?: Readonly<Record<string, unknown>> };

  constructor(code: ErrorCode, message: string, { info, cause }: ServiceErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.info = info;
    this.extensions = info ? { code, info } : { code };
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** INVALID with its list of issues. */
export function invalid(issues: readonly InputIssue[], message = listed(issues)): ServiceError {
  return new ServiceError('INVALID', message, { info: { issues } });
}

/** The error as it is for a caller who finds the input in other places: `place` gives the path there of an issue's path here. */
export function withPlaces(error: ServiceError, place: (path: string) => string): ServiceError {
  const issues = error.info?.issues as readonly InputIssue[] | undefined;
  if (error.code !== 'INVALID' || issues === undefined) return error;
  const moved = issues.map(({ path, reason }) => ({ path: place(path), reason }));
  return error.message === listed(issues) ? invalid(moved) : invalid(moved, error.message);
}

const listed = (issues: readonly InputIssue[]): string =>
  issues.map(({ path, reason }) => `${path}: ${reason}`).join('; ');

/** NOT_FOUND of what is there and out of the caller's sight. Callers read what they read of a thing that nobody has; the audit tells it. */
export class OutOfSight extends ServiceError {
  readonly hidden: { readonly kind: string; readonly id: string };

  constructor(kind: string, id: string) {
    const { code, message } = notFound(kind, id);
    super(code, message);
    this.hidden = { kind, id };
  }
}

export function notFound(what: string, id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no ${what} "${id}"`);
}
