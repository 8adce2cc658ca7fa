import type { ServiceError } from '../../../platform/errors.ts';
import type { AccessChange } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import type { PreviousValues } from './previous-values.ts';

export type TouchedObject =
  | { readonly kind: 'CLIENT' | 'GROUP' | 'ROLE'; readonly name: string }
  | { readonly kind: 'DEFAULT_ACL' }
  | { readonly kind: 'ANONYMOUS_GROUP' };

export interface Kick {
  readonly usernames: readonly string[];
  readonly anonymous: boolean;
  readonly gateway: boolean;
}

export type PlannedCommand = DynsecWrite & {
  readonly touches: readonly TouchedObject[];
  readonly kicks: Kick;
};

/** Without commands and error, the broker already has the requested state. */
export interface PlannedChange {
  readonly change: AccessChange;
  readonly commands: readonly PlannedCommand[];
  readonly before: PreviousValues | null;
  /** Why it is impossible: INVALID, NOT_FOUND, ALREADY_EXISTS, IN_USE, NOT_SUPPORTED_BY_BROKER or NOT_ALLOWED. */
  readonly error: ServiceError | null;
}
