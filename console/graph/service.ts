import type { TadaDocumentNode } from 'gql.tada';
import { createContext, useContext } from 'react';
import type { LiveConnection } from './live-connection.ts';
import type { Result } from './post.ts';

/** The service that components ask, with the credentials of the page around them. */
export interface Service {
  /** Address of the graph. */
  readonly graph: string;
  /** Runs a query or a mutation. */
  readonly ask: <Data, Variables>(
    document: TadaDocumentNode<Data, Variables>,
    variables: Variables,
  ) => Promise<Result<Data>>;
  readonly live: LiveConnection;
}

export const ServiceContext = createContext<Service | null>(null);

export function useService(): Service {
  const service = useContext(ServiceContext);
  if (service === null) throw new Error('Only parts of a page with a service ask it');
  return service;
}
