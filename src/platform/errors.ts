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

/** Maximum number of issues in a refusal. `info.omitted` counts further ones. */
export const MAX_ISSUES = 100;
/** Characters of a path or a reason: keys and values that a caller chose may be in both. The rest is cut off. */
const MAX_ISSUE_TEXT = 1_000;

export interface IssuesInfo extends Readonly<Record<string, unknown>> {
  readonly issues: readonly InputIssue[];
  readonly omitted?: number;
}

/** `info` of a refusal. `omitted`: issues that were found and are not in the list. */
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

/** INVALID with at most MAX_ISSUES issues. Default message: all of them. */
export function invalid(found: readonly InputIssue[], message?: string, omitted = 0): ServiceError {
  const info = issuesInfo(found, omitted);
  return new ServiceError('INVALID', message ?? listed(info), { info });
}

/** The error as it is for a caller who finds the input in other places: `place` gives the path there of an issue's path here. */
export function withPlaces(error: ServiceError, place: (path: string) => string): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues === undefined) return error;
  const info = error.info as IssuesInfo;
  const moved = info.issues.map(({ path, reason }) => ({ path: place(path), reason }));
  return invalid(moved, error.message === listed(info) ? undefined : error.message, info.omitted);
}

const listed = ({ issues, omitted }: IssuesInfo): string => {
  const texts = issues.map(({ path, reason }) => `${path}: ${reason}`);
  if (omitted !== undefined) texts.push(`and ${omitted} more`);
  return texts.join('; ');
};

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
