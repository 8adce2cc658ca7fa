import type { SignInProvider } from '../users/sign-in-methods.ts';
import type { Claims } from './rules/claim-values.ts';

export interface ExternalUser {
  readonly provider: SignInProvider;
  readonly subject: string;
  readonly email: string | null;
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  /** Claims for sign-in rules, with a bounded size. */
  readonly claims: Claims;
  /** Why the claims have no groups, if the provider withheld them. */
  readonly missingGroups?: string;
  /** A secret for `check`. `null` if the provider cannot be queried without the user. */
  readonly handle: string | null;
}

export type CheckedUser =
  | {
      readonly outcome: 'ACTIVE';
      readonly claims: Claims;
      readonly handle: string;
      /** Whether all claims were read again. If not, the user must sign in again within MAX_UNCHECKED_MS. */
      readonly isComplete: boolean;
    }
  | { readonly outcome: 'GONE' };

/** A provider that can check whether users still exist. Errors: ServiceError SIGN_IN_UNAVAILABLE. */
export interface CheckingProvider {
  readonly provider: SignInProvider;
  check(user: { readonly subject: string; readonly claims: Claims; readonly handle: string }): Promise<CheckedUser>;
}
