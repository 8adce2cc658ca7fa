import type { SignInProvider } from '../users/sign-in-methods.ts';
import type { Claims } from './rules/claim-values.ts';

/** A person as a provider tells of them. */
export interface ToldPerson {
  readonly provider: SignInProvider;
  /** What the provider knows the person by, whatever else changes. */
  readonly subject: string;
  readonly email: string | null;
  /** The provider vouches for it that the address is the person's. */
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  /** What rules look at, bounded. */
  readonly claims: Claims;
  /** What `check` needs to ask again, a secret; null: the provider cannot be asked without the person. */
  readonly handle: string | null;
}

/** What a provider says of a person who signed in before. */
export type Checked =
  | {
      readonly outcome: 'THERE';
      readonly claims: Claims;
      readonly handle: string;
      /** False: not everything could be asked again, so that the person has to sign in again one day. */
      readonly isWhole: boolean;
    }
  | { readonly outcome: 'GONE' };

/** Says whether people are still as they were. Errors: ServiceError SIGN_IN_UNAVAILABLE. */
export interface CheckingProvider {
  readonly provider: SignInProvider;
  check(person: { readonly subject: string; readonly claims: Claims; readonly handle: string }): Promise<Checked>;
}
