import { catalogue } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';

/** Why an operation was refused or failed. */
export const codeTexts = catalogue<NonNullable<Entry['code']>>('audit/code', {
  ALREADY_EXISTS: 'it exists already',
  BROKER_REJECTED: 'the broker rejected it',
  BROKER_TIMEOUT: 'the broker did not respond in time',
  BROKER_UNREACHABLE: 'the broker was not connected',
  DATABASE_UNAVAILABLE: 'the database did not respond',
  INTERNAL_ERROR: 'an error of the service, which its log describes',
  INVALID: 'the input was not valid',
  IN_USE: 'it is in use',
  LAST_ADMINISTRATOR: 'the service needs an administrator who can sign in',
  METHOD_NOT_ALLOWED: 'the address does not support this method',
  NOT_ALLOWED: 'the caller has no right to this',
  NOT_FOUND: 'it does not exist, or the caller may not see it',
  NOT_SUPPORTED_BY_BROKER: 'the broker does not support it',
  PERSISTED_QUERY_NOT_SUPPORTED: 'the text of the query was missing',
  RATE_LIMITED: 'too many attempts in a short time',
  SECOND_FACTOR_REQUIRED: 'a second factor is required',
  SIGN_IN_UNAVAILABLE: 'the provider of the sign-in was not available',
  TOO_COMPLEX: 'the request exceeded a limit',
  TOO_LARGE: 'it was too large',
  UNAUTHORIZED: 'without valid credentials',
});
