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
  readonly hasProblems?: boolean | null | undefined;
}

export type BrokerSortField = 'CREATED_AT' | 'NAME' | 'IS_CONNECTED' | 'PROBLEMS' | 'CLIENTS' | 'MESSAGES_IN';

interface BrokerListQuery extends PageArguments {
  readonly filter?: BrokerFilter | null | undefined;
  /** Default: in the order of creation. */
  readonly orderBy?:
    | { readonly field: BrokerSortField; readonly order: ListOrder<string>['direction'] }
    | null
    | undefined;
}

/** What is known now of a broker, in addition to its record. */
export interface BrokerFacts {
  readonly isConnected: (broker: BrokerRecord) => boolean;
  /** Open problems to which no silence applies. */
  readonly problems: (broker: BrokerRecord) => ProblemNumbers;
  /** `null`: unknown, which is last in every order. */
  readonly clients: (broker: BrokerRecord) => number | null;
  /** Messages per second that clients publish. `null`: unknown. */
  readonly messagesIn: (broker: BrokerRecord) => number | null;
}

interface ProblemNumbers {
  readonly critical: number;
  readonly warning: number;
  readonly notice: number;
}

/** `brokers` are in the order of creation. */
export function brokerPage(
  brokers: readonly BrokerRecord[],
  { filter, orderBy, ...page }: BrokerListQuery,
  facts: BrokerFacts,
): ListConnection<BrokerRecord> {
  const found = filter ? brokers.filter(matcherOf(filter, facts)) : brokers;
  if (!orderBy) return listConnection(found, page, 'Broker');
  const { field, order: direction } = orderBy;
  return orderedConnection(found, page, { field: `Broker.${field}`, direction }, (broker) =>
    VALUES[field](broker, facts),
  );
}

function matcherOf({ search, isConnected, type, isCluster, hasProblems }: BrokerFilter, facts: BrokerFacts) {
  const text = search?.toLowerCase() ?? '';
  return (broker: BrokerRecord): boolean =>
    (type == null || broker.type === type) &&
    (isCluster == null || broker.ha === isCluster) &&
    (text === '' ||
      broker.name.toLowerCase().includes(text) ||
      (broker.description?.toLowerCase().includes(text) ?? false)) &&
    (isConnected == null || facts.isConnected(broker) === isConnected) &&
    (hasProblems == null || urgencyOf(facts.problems(broker)) > 0 === hasProblems);
}

const VALUES: Readonly<Record<BrokerSortField, (broker: BrokerRecord, facts: BrokerFacts) => Place['value']>> = {
  CREATED_AT: ({ createdAt }) => createdAt,
  NAME: ({ name }) => name.toLowerCase(),
  IS_CONNECTED: (broker, { isConnected }) => Number(isConnected(broker)),
  PROBLEMS: (broker, { problems }) => urgencyOf(problems(broker)),
  CLIENTS: (broker, { clients }) => clients(broker),
  MESSAGES_IN: (broker, { messagesIn }) => messagesIn(broker),
};

/** More problems of one severity than a broker has. */
const WEIGHT = 10_000;

const urgencyOf = ({ critical, warning, notice }: ProblemNumbers): number =>
  (critical * WEIGHT + warning) * WEIGHT + notice;
