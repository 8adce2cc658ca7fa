import type { TadaDocumentNode } from 'gql.tada';
import { createClient } from 'graphql-ws';
import { GRAPH } from './addresses.ts';
import { textOf } from './ask.ts';

const FORBIDDEN = 4403;
const listeners = new Set<(isOpen: boolean) => void>();
const announce = (isOpen: boolean) => {
  for (const listener of listeners) listener(isOpen);
};

/** Calls `listener` whenever the connection for live events opens or is lost. Returns how to stop. */
export function onConnection(listener: (isOpen: boolean) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const client = createClient({
  url: GRAPH.replace('http', 'ws'),
  retryAttempts: Number.POSITIVE_INFINITY,
  // A session that has ended stays ended.
  shouldRetry: (event) => (event as CloseEvent).code !== FORBIDDEN,
  on: {
    connected: () => announce(true),
    // Without a subscription the client closes the connection itself.
    closed: (event) => (event as CloseEvent).code !== 1000 && announce(false),
  },
});

/** Calls `receive` for each event. `variables` are read again after a reconnect. Returns how to stop. */
export function subscribe<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables & Record<string, unknown>,
  receive: (data: Data) => void,
  onError: (error: unknown) => void,
): () => void {
  return client.subscribe<Data>(
    { query: textOf(document), variables },
    {
      next: ({ data, errors }) => (data ? receive(data) : onError(errors)),
      error: onError,
      complete: () => {},
    },
  );
}
