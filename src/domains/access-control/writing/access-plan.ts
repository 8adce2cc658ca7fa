import type { ServiceError } from '../../../platform/errors.ts';
import type { AccessChange } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';

/** One thing of the policy that a command may have changed, to be read again. */
export type TouchedObject =
  | { readonly kind: 'CLIENT' | 'GROUP' | 'ROLE'; readonly name: string }
  | { readonly kind: 'DEFAULT_ACL' }
  | { readonly kind: 'ANONYMOUS_GROUP' };

/** Whom a command disconnects. */
export interface Kick {
  /** Accounts, connected or not. */
  readonly usernames: readonly string[];
  /** Every connection without user name. */
  readonly anonymous: boolean;
  /** This service's own connection. */
  readonly gateway: boolean;
}

export type PlannedCommand = DynsecWrite & {
  readonly touches: readonly TouchedObject[];
  readonly kicks: Kick;
};

/** Without commands and error: it is so already. */
export interface PlannedChange {
  readonly change: AccessChange;
  readonly commands: readonly PlannedCommand[];
  /** Why it cannot be carried out: INVALID, NOT_FOUND, ALREADY_EXISTS, IN_USE, NOT_SUPPORTED_BY_BROKER, NOT_ALLOWED. */
  readonly error: ServiceError | null;
}
