import { useMemo } from 'react';
import type { VariablesOf } from '../graph/graphql.ts';
import { useAddressValues } from '../ui/address-values.ts';
import type { CLIENTS } from './operations.ts';

type Variables = VariablesOf<typeof CLIENTS>;
export type Filter = NonNullable<Variables['filter']>;
export type SortField = NonNullable<Variables['orderBy']>['field'];
export interface Order {
  readonly field: SortField;
  readonly order: 'ASC' | 'DESC';
}

export const MODES = ['CONTAINS', 'STARTS_WITH', 'ENDS_WITH', 'EQUALS'] as const;
export const PROTOCOLS = ['MQTT', 'MQTT_WS', 'MQTT_SN'] as const;
export const VERSIONS = ['V3_1', 'V3_1_1', 'V5'] as const;
export const SORT_FIELDS = [
  'CLIENT_ID',
  'USERNAME',
  'ADDRESS',
  'CONNECTED_AT',
  'QUEUED_MESSAGES',
  'DROPPED_MESSAGES',
] as const satisfies readonly SortField[];

/** The clients that the address selects, and their order. */
export interface Selection {
  readonly filter: Filter;
  readonly orderBy: Order;
  /** Whether the numbers of dropped messages are read, for each row with one request to the broker. */
  readonly withDrops: boolean;
}

/** The names of the conditions in the address. */
export const CONDITIONS = [
  'text',
  'mode',
  'state',
  'username',
  'group',
  'address',
  'protocol',
  'version',
  'queued',
  'dropped',
] as const;
export type Condition = (typeof CONDITIONS)[number];

export function useSelection() {
  const { values, set } = useAddressValues();
  const selection = useMemo(() => selectionIn(values), [values]);
  return { selection, values, set };
}

function selectionIn(values: URLSearchParams): Selection {
  const of = (name: Condition) => values.get(name) ?? '';
  const state = of('state');
  const queued = countIn(of('queued'));
  const dropped = countIn(of('dropped'));
  const protocol = oneOf(PROTOCOLS, of('protocol'));
  const protocolVersion = oneOf(VERSIONS, of('version'));
  const filter: Filter = {
    ...(of('text') !== '' && { value: of('text'), mode: oneOf(MODES, of('mode')) ?? 'CONTAINS' }),
    ...((state === 'connected' || state === 'offline') && { isConnected: state === 'connected' }),
    ...(of('username') !== '' && { username: of('username') }),
    ...(of('group') !== '' && { groupName: of('group') }),
    ...(of('address') !== '' && { address: of('address') }),
    ...(protocol && { protocol }),
    ...(protocolVersion && { protocolVersion }),
    ...(queued !== null && { minQueuedMessages: queued }),
    ...(dropped !== null && { minDroppedMessages: dropped }),
  };
  const field = oneOf(SORT_FIELDS, values.get('sort') ?? '') ?? 'CLIENT_ID';
  const order = values.get('order') === 'DESC' ? 'DESC' : 'ASC';
  return { filter, orderBy: { field, order }, withDrops: dropped !== null || field === 'DROPPED_MESSAGES' };
}

const oneOf = <Value extends string>(values: readonly Value[], text: string): Value | undefined =>
  values.find((value) => value === text);

const countIn = (text: string): number | null => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : null);
