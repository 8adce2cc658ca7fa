import type { ErrorCode as Code } from '../../platform/errors.ts';
import { builder } from './builder.ts';

export const ErrorCode = builder.enumType('ErrorCode', {
  description: 'Codes of errors, also in `extensions.code` of the errors of a response and in `code` of REST.',
  values: {
    INVALID: { description: 'The input violates the schema or a rule; `info.issues` lists path and reason.' },
    PERSISTED_QUERY_NOT_SUPPORTED: { description: 'The request has only the hash of a query: send its text.' },
    TOO_COMPLEX: {
      description: 'The document or its result exceeds a limit; `info` has `limit` and `actual`. Do not send it again.',
    },
    ALREADY_EXISTS: { description: 'An object with this name or id exists.' },
    IN_USE: { description: 'Other objects depend on the object.' },
    LAST_ADMINISTRATOR: { description: 'No root administrator who can sign in would remain.' },
    BROKER_REJECTED: { description: 'The broker understood the command and refused it.' },
    UNAUTHORIZED: { description: 'The credentials are missing, unknown, expired or revoked.' },
    SECOND_FACTOR_REQUIRED: { description: 'The password is correct, and the account also requires a code.' },
    NOT_ALLOWED: { description: 'The role of the caller does not allow the operation.' },
    NOT_FOUND: { description: 'The object does not exist, or the caller may not see it.' },
    METHOD_NOT_ALLOWED: { description: 'The path of the REST interface has no such method.' },
    NOT_SUPPORTED_BY_BROKER: { description: 'The broker has no such feature; `info` describes what would help.' },
    TOO_LARGE: { description: 'The request or the response has too many bytes.' },
    RATE_LIMITED: { description: 'Too many attempts or requests; `info.retryAfterSeconds` if waiting helps.' },
    INTERNAL_ERROR: { description: 'A bug of this service; its log has the error with `info.requestId`.' },
    BROKER_UNREACHABLE: { description: 'The broker is not connected.' },
    BROKER_TIMEOUT: { description: 'The broker is connected and did not respond in time.' },
    SIGN_IN_UNAVAILABLE: { description: 'The OpenID provider or the LDAP directory does not respond.' },
    DATABASE_UNAVAILABLE: {
      description:
        'The database of this service does not respond, and a write may have been done: read before a retry. Or it cannot store changes, for example because its disk is full.',
    },
  } satisfies Record<Code, object>,
});
