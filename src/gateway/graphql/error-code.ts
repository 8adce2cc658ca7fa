import type { ErrorCode as Code } from '../../platform/errors.ts';
import { describedEnum } from './described-enum.ts';

export const ErrorCode = describedEnum<Code>(
  'ErrorCode',
  'Codes of errors, also in `extensions.code` of the errors of a response and in `code` of REST.',
  {
    INVALID: 'The input violates the schema or a rule; `info.issues` lists path and reason.',
    PERSISTED_QUERY_NOT_SUPPORTED: 'The request has only the hash of a query: send its text.',
    TOO_COMPLEX: 'The document or its result exceeds a limit; `info` has `limit` and `actual`. Do not send it again.',
    ALREADY_EXISTS: 'An object with this name or id exists.',
    IN_USE: 'Other objects depend on the object.',
    LAST_ADMINISTRATOR: 'No root administrator who can sign in would remain.',
    BROKER_REJECTED: 'The broker understood the command and refused it.',
    UNAUTHORIZED: 'The credentials are missing, unknown, expired or revoked.',
    SECOND_FACTOR_REQUIRED: 'The password is correct, and the account also requires a code.',
    NOT_ALLOWED: 'The role of the caller does not allow the operation.',
    NOT_FOUND: 'The object does not exist, or the caller may not see it.',
    METHOD_NOT_ALLOWED: 'The path of the REST interface has no such method.',
    NOT_SUPPORTED_BY_BROKER: 'The broker has no such feature; `info` describes what would help.',
    TOO_LARGE: 'The request or the response has too many bytes.',
    RATE_LIMITED: 'Too many attempts or requests; `info.retryAfterSeconds` if waiting helps.',
    INTERNAL_ERROR: 'A bug of this service; its log has the error with `info.requestId`.',
    BROKER_UNREACHABLE: 'The broker is not connected.',
    BROKER_TIMEOUT: 'The broker is connected and did not respond in time.',
    SIGN_IN_UNAVAILABLE: 'The OpenID provider or the LDAP directory does not respond.',
    DATABASE_UNAVAILABLE:
      'The database of this service does not respond, and a write may have been done: read before a retry. Or it cannot store changes, for example because its disk is full.',
  },
);
