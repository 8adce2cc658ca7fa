import { accessAddress, whyAddress } from '../access/addresses.ts';
import { clientPath } from '../clients/client-address.ts';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import { contains, type Found, type Kind, MAX_OF_KIND, topicAddress } from './found.ts';

/** Bounds of a search, because each broker may ask its engine. */
export const MAX_BROKERS = 20;
const MAX_RUNNING = 4;

const SEARCH = graphql(`query SearchBroker($id: ID!, $term: String!, $first: Int!) {
  broker(id: $id) {
    connectedClients(first: $first, filter: { value: $term }) { nodes { clientId username } }
    refusals(first: $first, filter: { value: $term }) { nodes { id clientId username } }
    accounts(first: $first, filter: { search: $term }) { nodes { username } }
    accessGroups(first: $first, filter: { value: $term }) { nodes { groupName } }
    accessRoles(first: $first, filter: { value: $term }) { nodes { roleName } }
    topicTree { topics(first: $first, search: $term) { nodes { topic } } }
  }
}`);

/** Read once for all terms: a broker has few, and the graph does not search them. */
const NAMED = graphql(`query SearchNamed($id: ID!) {
  broker(id: $id) {
    streams(first: 1000) { nodes { name textName } }
    bridges { name connections { name } }
  }
}`);

/** By itself, because the rest is found without the history. */
const HISTORY = graphql(`query SearchHistory($id: ID!, $clientId: String!) {
  broker(id: $id) { clientHistory(clientId: $clientId, first: 1) { nodes { at } } }
}`);

interface Searched {
  readonly id: string;
  readonly name: string;
}

export interface BrokerResult {
  readonly found: readonly Found[];
  /** The page of the text as a client id that neither the broker nor its history knows; `null` if one does. */
  readonly lookUp: Found | null;
  /** The broker that did not respond, so that its objects are unknown; `null` if it did. */
  readonly missing: string | null;
}

interface SearchOptions {
  /** Streams and bridges by the id of the broker, which the search completes. */
  readonly named: Map<string, Promise<readonly Found[]>>;
  readonly add: (result: BrokerResult) => void;
  readonly signal: AbortSignal;
}

/** Searches brokers, some at the same time. Calls `add` with the result of each as soon as it responds. */
export async function searchBrokers(
  brokers: readonly Searched[],
  term: string,
  { named, add, signal }: SearchOptions,
): Promise<void> {
  const waiting = brokers.slice(0, MAX_BROKERS);
  const work = async () => {
    for (let broker = waiting.shift(); broker && !signal.aborted; broker = waiting.shift()) {
      const listed = named.get(broker.id) ?? namedOf(broker);
      named.set(broker.id, listed);
      const result = await searchBroker(broker, term, listed);
      if (!signal.aborted) add(result);
    }
  };
  await Promise.all(Array.from({ length: MAX_RUNNING }, work));
}

const NO_RESPONSE: ReadonlySet<string> = new Set(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT', 'UNREACHABLE']);

/** Streams and bridges by all of their names. */
async function namedOf({ id, name: of }: Searched): Promise<readonly Found[]> {
  const { data } = await ask(NAMED, { id });
  const { streams, bridges } = data?.broker ?? {};
  return [
    ...(streams?.nodes ?? []).map(({ name, textName }) => ({
      kind: 'stream' as const,
      name: textName ? `${textName} (${name})` : name,
      of,
      address: `/brokers/${id}/streams?stream=${encodeURIComponent(name)}`,
    })),
    ...(bridges ?? []).flatMap(({ name, connections }) =>
      [name, ...(connections ?? []).map((one) => one.name)].map((bridge) => ({
        kind: 'bridge' as const,
        name: bridge,
        of,
        address: `/brokers/${id}/bridges`,
      })),
    ),
  ];
}

/** What the viewer may not see, and what the broker does not have, is null in the result. */
async function searchBroker(
  { id, name: of }: Searched,
  term: string,
  listing: Promise<readonly Found[]>,
): Promise<BrokerResult> {
  const [{ data, error }, history, named] = await Promise.all([
    ask(SEARCH, { id, term, first: MAX_OF_KIND }),
    ask(HISTORY, { id, clientId: term }),
    listing,
  ]);
  const broker = data?.broker;
  const clients = broker?.connectedClients?.nodes ?? [];
  const clientIds = clients.map(({ clientId }) => clientId);
  const isConnected = clientIds.includes(term);
  const isRecorded = (history.data?.broker?.clientHistory.nodes.length ?? 0) > 0;
  const listed = (kind: Kind, names: readonly string[] | undefined, addressOf: (name: string) => string): Found[] =>
    (names ?? []).map((name) => ({ kind, name, of, address: addressOf(name) }));
  const inAccess = (part: 'accounts' | 'groups' | 'roles') => (name: string) => accessAddress(id, part, { name });
  const found = [
    ...listed('client', isRecorded && !isConnected ? [term] : [], (name) => clientPath(id, name)),
    ...clients.map(({ clientId: name, username }) => ({
      kind: 'client' as const,
      name,
      of,
      address: clientPath(id, name),
      acts: {
        disconnect: `${clientPath(id, name)}?disconnect=yes`,
        why: whyAddress(id, { clientId: name, ...(isNamed(username) ? { account: username } : { anonymous: 'true' }) }),
      },
    })),
    ...(broker?.refusals?.nodes ?? []).map(({ id: refusal, clientId, username }) => ({
      kind: 'denied' as const,
      name: clientId ?? username ?? '',
      of,
      address: `/brokers/${id}/refusals?id=${encodeURIComponent(refusal)}`,
    })),
    ...listed(
      'account',
      broker?.accounts?.nodes.map(({ username }) => username),
      inAccess('accounts'),
    ).map((one) => ({ ...one, acts: { why: whyAddress(id, { account: one.name }) } })),
    ...listed(
      'group',
      broker?.accessGroups?.nodes.map(({ groupName }) => groupName),
      inAccess('groups'),
    ),
    ...listed(
      'role',
      broker?.accessRoles?.nodes.map(({ roleName }) => roleName),
      inAccess('roles'),
    ),
    ...listed(
      'topic',
      broker?.topicTree?.topics?.nodes.map(({ topic }) => topic),
      (name) => topicAddress(id, name),
    ),
    ...named.filter(({ name }) => contains(name, term)).slice(0, MAX_OF_KIND),
  ];
  const lookUp = { kind: 'clientId', name: term, of, address: clientPath(id, term) } as const;
  return {
    found,
    lookUp: isConnected || isRecorded ? null : lookUp,
    missing: error !== null && NO_RESPONSE.has(error.code) ? of : null,
  };
}

/** The list of clients names those without a user name `<anonymous>`. */
const isNamed = (username: string | null): boolean => username !== null && username !== '<anonymous>';
