import { ServiceError } from '../../platform/errors.ts';

/** Why somebody whom a provider knows does not get in, in words for people. Redirects carry the names in lower case. */
const SIGN_IN_REFUSALS = {
  EMAIL_NOT_VERIFIED: 'The provider does not vouch for an e-mail address of this person',
  ACCOUNT_SIGNS_IN_OTHERWISE: 'The account with this e-mail address signs in in another way; ask an administrator',
  ACCOUNT_OF_ANOTHER_PERSON: 'The account with this e-mail address belongs to another person; ask an administrator',
  NO_ACCOUNT: 'There is no account for this person; ask an administrator for one',
  ACCESS_DENIED: 'The provider did not let this person in',
} as const;

export type SignInRefusal = keyof typeof SIGN_IN_REFUSALS;

export const signInRefused = (reason: SignInRefusal, cause?: unknown): ServiceError =>
  new ServiceError('NOT_ALLOWED', SIGN_IN_REFUSALS[reason], { info: { reason }, cause });

/** Errors of what is behind it are for the log; callers are told no more than this. */
export const signInUnavailable = (cause?: unknown): ServiceError =>
  new ServiceError('SIGN_IN_UNAVAILABLE', 'The service that people sign in at cannot be asked now; try again later', {
    info: { retryAfterSeconds: 5 },
    cause,
  });
