import { whyAddress } from '../access/addresses.ts';
import type { RefusalReason } from '../advice/reason-texts.ts';

export interface Refused {
  readonly id: string;
  readonly kind: string;
  readonly reason: RefusalReason;
  readonly clientId: string | null;
  readonly username: string | null;
  readonly topic: string | null;
}

/** The kinds that are decisions about topics. */
const ACTIONS = ['PUBLISH', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const;

/** Where a refusal is explained: rules decide about topics only. */
export function addressOfWhy(brokerId: string, { id, kind, reason, clientId, username, topic }: Refused): string {
  if (reason !== 'ACCESS_DENIED' || topic === null)
    return `/brokers/${brokerId}/refusals?${new URLSearchParams({ id })}`;
  const action = ACTIONS.find((known) => known === kind);
  return whyAddress(brokerId, {
    ...(username === null ? { anonymous: 'true' } : { account: username }),
    clientId,
    action,
    topic,
  });
}
