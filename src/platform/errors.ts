/** Codes of all deliberate errors, in GraphQL (`extensions.code`) and REST (`code`), with the HTTP status of REST. */
export const ERROR_STATUS = {
  /** The input violates the schema or a rule; `info.issues` lists `{ path, reason }`. */
  INVALID: 400,
  /** The request has the hash of a query without its text: send the text. Clients expect the status of a result. */
  PERSISTED_QUERY_NOT_SUPPORTED: 200,
  ALREADY_EXISTS: 400,
  /** The object cannot be changed or deleted while other objects depend on it. */
  IN_USE: 400,
  /** The last root administrator who can sign in would be removed. */
  LAST_ADMINISTRATOR: 400,
  /** The document or its result exceeds a limit of depth, number or cost; `info` has `{ limit, actual }`. */
  TOO_COMPLEX: 400,
  /** The broker understood the command and refused it. */
  BROKER_REJECTED: 400,
  /** Credentials are missing, unknown, expired or revoked. */
  UNAUTHORIZED: 401,
  /** The password is correct, and the account also requires a code of its second factor. */
  SECOND_FACTOR_REQUIRED: 401,
  /** The role of the caller does not allow the operation. */
  NOT_ALLOWED: 403,
  /** The object does not exist, or is in a project that the caller cannot see. */
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  /** The broker has no such feature; `info` describes what would help. */
  NOT_SUPPORTED_BY_BROKER: 405,
  TOO_LARGE: 413,
  /** Too many attempts; `info.retryAfterSeconds` if waiting helps. */
  RATE_LIMITED: 429,
  /** A bug of this service; the log contains it with the request id. */
  INTERNAL_ERROR: 500,
  BROKER_UNREACHABLE: 503,
  /** The broker is connected and did not respond in time. */
  BROKER_TIMEOUT: 503,
  SIGN_IN_UNAVAILABLE: 503,
  /** The database cannot be reached, did not respond in time (a write may have been done), or its disk is full. */
  DATABASE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * One reason why an input is INVALID. Paths in GraphQL start with an argument and have dots (`input.acls.0.topic`); in
 * REST they are JSON pointers into the body (`/acls/0/topic`) or names of parameters.
 */
export interface InputIssue {
  readonly path: string;
  readonly reason: string;
}

interface ServiceErrorOptions {
  readonly info?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The only error whose message is sent to callers. It contains no secret. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly info: Readonly<Record<string, unknown>> | undefined;
  /** GraphQL executors copy this to the errors that they send. */
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

/** For `catch`: `null` instead of an error with the code. Errors: others. */
export const nullOn =
  (code: ErrorCode) =>
  (error: unknown): null => {
    if (error instanceof ServiceError && error.code === code) return null;
    throw error;
  };

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** `info.omitted` counts further ones. */
export const MAX_ISSUES = 100;
/** Maximum characters of a path or reason, which may contain keys and values of the caller. The rest is cut off. */
const MAX_ISSUE_TEXT = 1_000;

export interface IssuesInfo extends Readonly<Record<string, unknown>> {
  readonly issues: readonly InputIssue[];
  readonly omitted?: number;
}

export function issuesInfo(found: readonly InputIssue[], omitted = 0): IssuesInfo {
  const issues = found.slice(0, MAX_ISSUES).map(shortened);
  const more = omitted + found.length - issues.length;
  return more > 0 ? { issues, omitted: more } : { issues };
}

const shortened = (issue: InputIssue): InputIssue => {
  const { path, reason } = issue;
  if (path.length <= MAX_ISSUE_TEXT && reason.length <= MAX_ISSUE_TEXT) return issue;
  return { path: cut(path), reason: cut(reason) };
};

const cut = (text: string): string => (text.length > MAX_ISSUE_TEXT ? `${text.slice(0, MAX_ISSUE_TEXT)}…` : text);

/** Creates an INVALID error with at most MAX_ISSUES issues. Default message: all of them. */
export function invalid(found: readonly InputIssue[], message?: string, omitted = 0): ServiceError {
  const info = issuesInfo(found, omitted);
  return new ServiceError('INVALID', message ?? listed(info), { info });
}

export function withPlaces(error: ServiceError, convert: (path: string) => string): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues === undefined) return error;
  const info = error.info as IssuesInfo;
  const moved = info.issues.map(({ path, reason }) => ({ path: convert(path), reason }));
  return invalid(moved, error.message === listed(info) ? undefined : error.message, info.omitted);
}

const listed = ({ issues, omitted }: IssuesInfo): string => {
  const texts = issues.map(({ path, reason }) => `${path}: ${reason}`);
  if (omitted !== undefined) texts.push(`and ${omitted} more`);
  return texts.join('; ');
};

/** NOT_FOUND of an existing object that the caller cannot see. Reads like a missing object, except in the audit. */
export class OutOfSight extends ServiceError {
  readonly hidden: { readonly kind: string; readonly id: string };

  /** `graphId` is the id of the object in the graph if the caller knows it by another id. */
  constructor(kind: string, id: string, graphId = id) {
    const { code, message } = notFound(kind, id);
    super(code, message);
    this.hidden = { kind, id: graphId };
  }
}

export function notFound(kind: string, id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no ${kind} "${id}"`);
}
