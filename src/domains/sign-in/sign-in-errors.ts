import { ServiceError } from '../../platform/errors.ts';

/** Messages for users whose sign-in was refused, by reason. Redirects contain the reason in lower case. */
const SIGN_IN_REFUSALS = {
  EMAIL_MISSING: 'The provider sends no e-mail address of this user',
  EMAIL_NOT_VERIFIED: 'The provider has not verified an e-mail address of this user',
  EMAIL_NOT_NORMALIZED: 'The e-mail address of this user has characters with another standard form (Unicode NFKC)',
  ACCOUNT_SIGNS_IN_OTHERWISE: 'The account with this e-mail address uses another sign-in method; ask an administrator',
  ACCOUNT_OF_ANOTHER_PERSON: 'The account with this e-mail address belongs to another user; ask an administrator',
  NO_ACCOUNT: 'This user has no account; ask an administrator for one',
  ACCESS_DENIED: 'The provider denied access to this user',
} as const;

export type SignInRefusal = keyof typeof SIGN_IN_REFUSALS;

export const signInRefused = (reason: SignInRefusal): ServiceError =>
  new ServiceError('NOT_ALLOWED', SIGN_IN_REFUSALS[reason], { info: { reason } });

export const signInUnavailable = (): ServiceError =>
  new ServiceError('SIGN_IN_UNAVAILABLE', 'The sign-in provider is unavailable; try again later', {
    info: { retryAfterSeconds: 5 },
  });
