import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { ACCOUNTS, BROKERS, CLIENTS } from '../documents.mjs';
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
  subscribe(CLIENTS, brokerId, (data) => print({ event: data?.connectedClients.kind }));
  subscribe(ACCOUNTS, brokerId, (data) => print({ accountEvent: data?.accessControl.kind }));
}

function subscribe(document, brokerId, next) {
  client
    .subscription(document, { brokerId })
    .subscribe(({ data, error }) => (error ? print({ error: error.message }) : next(data)));
}
