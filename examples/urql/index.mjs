import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { BROKERS, CLIENTS } from '../documents.mjs';
import { schemaFacts } from '../schema-facts.mjs';
import { graphqlUrl, headers, print, projectId } from '../settings.mjs';
import { webSocket } from '../web-socket.mjs';

const { typesWithoutId } = await schemaFacts();
const client = new Client({
  url: graphqlUrl,
  preferGetMethod: false,
  fetchOptions: { headers },
  exchanges: [
    cacheExchange({ keys: Object.fromEntries(typesWithoutId.map((name) => [name, () => null])) }),
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query, variables }) => ({
        subscribe: (sink) => ({ unsubscribe: webSocket.subscribe({ query, variables }, sink) }),
      }),
    }),
  ],
});

const followed = new Set();
client.query(BROKERS, { projectId }).subscribe(({ data }) => {
  // `data` of a broker that is down is null in its own fields; `error` lists why.
  if (!data) return;
  print({ brokers: data.project.brokers.nodes });
  for (const { id } of data.project.brokers.nodes) follow(id);
});

function follow(brokerId) {
  if (followed.has(brokerId)) return;
  followed.add(brokerId);
  client
    .subscription(CLIENTS, { brokerId })
    .subscribe(({ data, error }) => print(error ? { error: error.message } : { event: data?.connectedClients.kind }));
}
