import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';

/*
 * A user name that no account has may be a password that was typed in the wrong place. The history has it sealed, and
 * events of clients do not have it.
 */

const contextOf = (broker: string): string => `${broker}/refused-username`;

/** The refusal as it is stored. */
export function withSealedName(refusal: Refusal, broker: string, sealer: Pick<Sealer, 'seal'>): Refusal {
  const { reason, username } = refusal;
  if (reason !== 'UNKNOWN_ACCOUNT' || username === null) return refusal;
  return { ...refusal, username: sealer.seal(username, contextOf(broker)) };
}

/** The refusal as it was. Without the name if the key was rotated since then. */
export function withOpenedName(refusal: Refusal, broker: string, sealer: Pick<Sealer, 'open'>): Refusal {
  const { reason, username } = refusal;
  if (reason !== 'UNKNOWN_ACCOUNT' || username === null) return refusal;
  try {
    return { ...refusal, username: sealer.open(username, contextOf(broker)) };
  } catch {
    return { ...refusal, username: null };
  }
}
