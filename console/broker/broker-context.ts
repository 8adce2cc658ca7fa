import { createContext, useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';

export const BROKER = graphql(`query Broker($id: ID!) {
  broker(id: $id) {
    __typename
    id
    name
    url
    project { id name }
    connection { state since lastError }
  }
}`);

export type Broker = NonNullable<ResultOf<typeof BROKER>['broker']>;

export const BrokerContext = createContext<Broker | null>(null);

/** The broker whose screens are shown. */
export function useBroker(): Broker {
  const broker = useContext(BrokerContext);
  if (broker === null) throw new Error('Only screens of a broker have one');
  return broker;
}
