import { createContext, useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';

export const BROKER = graphql(`query Broker($id: ID!) {
  broker(id: $id) {
    __typename
    id
    name
    url
    project { id name viewerCanReadAudit viewerCanAddBrokers }
    connection { state since lastError }
  }
}`);

export type Broker = NonNullable<ResultOf<typeof BROKER>['broker']>;

interface Shown {
  readonly broker: Broker;
  /** Reads the broker again, after a change of its settings. */
  readonly renew: () => void;
}

export const BrokerContext = createContext<Shown | null>(null);

function useShown(): Shown {
  const shown = useContext(BrokerContext);
  if (shown === null) throw new Error('Only screens of a broker have one');
  return shown;
}

/** The broker whose screens are shown. Its connection is live. */
export const useBroker = (): Broker => useShown().broker;

/** Whether the broker is connected, so that what a subscription reports of it is current. */
export const useIsReached = (): boolean => useBroker().connection.state === 'CONNECTED';

export const useRenewBroker = (): (() => void) => useShown().renew;
