import { useSearchParams } from 'wouter';
import { useAddressValues } from '../ui/address-values.ts';

export const ACTIONS = ['PUBLISH', 'SUBSCRIBE', 'RECEIVE', 'UNSUBSCRIBE'] as const;
export type Action = (typeof ACTIONS)[number];

export interface Role {
  readonly name: string;
  readonly priority: number;
}

/** What is asked, all of which is in the address. */
export interface Inputs {
  /** An empty text: not given. */
  readonly account: string;
  readonly isAnonymous: boolean;
  readonly clientId: string;
  readonly action: Action;
  readonly topic: string;
  /** The day in the past for which the list is asked, as in `2026-01-31`. Empty: today. */
  readonly day: string;
  /** Roles that the account is assumed to hold, too. */
  readonly withRoles: readonly Role[];
  /** Roles that it is assumed not to hold. */
  readonly withoutRoles: readonly string[];
}

/**
 * The inputs of the address: `account`, `anonymous=true`, `clientId`, `action`, `topic` and `day`; `with` and
 * `priority`, once for each assumed role in the same order; `without`.
 */
export function useWhy(): { readonly inputs: Inputs; readonly set: (part: Partial<Inputs>) => void } {
  const { values: search } = useAddressValues();
  const [, setSearch] = useSearchParams();
  const action = ACTIONS.find((known) => known === search.get('action')) ?? 'PUBLISH';
  const priorities = search.getAll('priority').map(Number);
  const inputs: Inputs = {
    account: search.get('account') ?? '',
    isAnonymous: search.get('anonymous') === 'true',
    clientId: search.get('clientId') ?? '',
    action,
    topic: search.get('topic') ?? '',
    day: search.get('day') ?? '',
    withRoles: search.getAll('with').map((name, index) => ({ name, priority: priorities[index] ?? -1 })),
    withoutRoles: search.getAll('without'),
  };
  return { inputs, set: (part) => setSearch(queryOf({ ...inputs, ...part })) };
}

function queryOf(inputs: Inputs): URLSearchParams {
  const query = new URLSearchParams();
  const texts = {
    account: inputs.isAnonymous ? '' : inputs.account,
    anonymous: inputs.isAnonymous ? 'true' : '',
    clientId: inputs.clientId,
    action: inputs.action,
    topic: inputs.topic,
    day: inputs.day,
  };
  for (const [key, value] of Object.entries(texts)) if (value !== '') query.set(key, value);
  for (const { name, priority } of inputs.withRoles) {
    query.append('with', name);
    query.append('priority', String(priority));
  }
  for (const name of inputs.withoutRoles) query.append('without', name);
  return query;
}
