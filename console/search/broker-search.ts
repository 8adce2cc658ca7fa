import { accessAddress } from '../access/addresses.ts';
import { clientPath } from '../clients/client-address.ts';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import { type Found, topicAddress } from './found.ts';

/** Bounds of a search, because each broker may ask its engine. */
export const MAX_BROKERS = 20;
export const MAX_OF_KIND = 5;
const MAX_RUNNING = 4;

const SEARCH = graphql(`query SearchBroker($id: ID!, $term: String!, $first: Int!) {
  broker(id: $id) {
    connectedClients(first: $first, filter: { value: $term }) { nodes { clientId } }
    accounts(first: $first, filter: { search: $term }) { nodes { username } }
    topicTree { topics(first: $first, search: $term) { nodes { topic } } }
  }
}`);

interface Searched {
  readonly id: string;
  readonly name: string;
}

/** Searches brokers, some at the same time. Calls `add` with the results of each as soon as it responds. */
export async function searchBrokers(
  brokers: readonly Searched[],
  term: string,
  add: (found: readonly Found[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const waiting = brokers.slice(0, MAX_BROKERS);
  const work = async () => {
    for (let broker = waiting.shift(); broker && !signal.aborted; broker = waiting.shift()) {
      const found = await searchBroker(broker, term);
      if (!signal.aborted) add(found);
    }
  };
  await Promise.all(Array.from({ length: MAX_RUNNING }, work));
}

/** What the viewer may not see, and what the broker does not have, is null in the result. */
async function searchBroker({ id, name: of }: Searched, term: string): Promise<readonly Found[]> {
  const { data } = await ask(SEARCH, { id, term, first: MAX_OF_KIND });
  const broker = data?.broker;
  const clients = broker?.connectedClients?.nodes ?? [];
  const accounts = broker?.accounts?.nodes ?? [];
  const topics = broker?.topicTree?.topics?.nodes ?? [];
  return [
    ...clients.map(({ clientId }) => ({
      kind: 'client' as const,
      name: clientId,
      of,
      address: clientPath(id, clientId),
    })),
    ...accounts.map(({ username }) => ({
      kind: 'account' as const,
      name: username,
      of,
      address: accessAddress(id, 'accounts', { name: username }),
    })),
    ...topics.map(({ topic }) => ({ kind: 'topic' as const, name: topic, of, address: topicAddress(id, topic) })),
  ];
}
