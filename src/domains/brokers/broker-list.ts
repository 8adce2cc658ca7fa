import { type ListConnection, listConnection, orderedConnection, type PageArguments } from '../../platform/paging.ts';
import type { ListOrder, Place } from '../../platform/sorting/places.ts';
import type { BrokerRecord } from './broker-cache.ts';

/** All given conditions must be met. */
interface BrokerFilter {
  /** Part of the name or the description, in any case. */
  readonly search?: string | null | undefined;
  readonly isConnected?: boolean | null | undefined;
  readonly type?: BrokerRecord['type'] | null | undefined;
  readonly isCluster?: boolean | null | undefined;
}

export type BrokerSortField = 'CREATED_AT' | 'NAME' | 'IS_CONNECTED';

interface BrokerListQuery extends PageArguments {
  readonly filter?: BrokerFilter | null | undefined;
  /** Default: in the order of creation. */
  readonly orderBy?:
    | { readonly field: BrokerSortField; readonly order: ListOrder<string>['direction'] }
    | null
    | undefined;
}

type IsConnected = (brokerId: string) => boolean;

/** `brokers` are in the order of creation. */
export function brokerPage(
  brokers: readonly BrokerRecord[],
  { filter, orderBy, ...page }: BrokerListQuery,
  isConnected: IsConnected,
): ListConnection<BrokerRecord> {
  const found = filter ? brokers.filter(matcherOf(filter, isConnected)) : brokers;
  if (!orderBy) return listConnection(found, page, 'Broker');
  const { field, order: direction } = orderBy;
  return orderedConnection(found, page, { field: `Broker.${field}`, direction }, (broker) =>
    VALUES[field](broker, isConnected),
  );
}

function matcherOf({ search, isConnected, type, isCluster }: BrokerFilter, connected: IsConnected) {
  const text = search?.toLowerCase() ?? '';
  return ({ id, name, description, type: ofBroker, ha }: BrokerRecord): boolean =>
    (type == null || ofBroker === type) &&
    (isCluster == null || ha === isCluster) &&
    (text === '' || name.toLowerCase().includes(text) || (description?.toLowerCase().includes(text) ?? false)) &&
    (isConnected == null || connected(id) === isConnected);
}

const VALUES: Readonly<Record<BrokerSortField, (broker: BrokerRecord, isConnected: IsConnected) => Place['value']>> = {
  CREATED_AT: ({ createdAt }) => createdAt,
  NAME: ({ name }) => name.toLowerCase(),
  IS_CONNECTED: ({ id }, isConnected) => Number(isConnected(id)),
};
