import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { ACCOUNTS, BROKERS, CLIENTS } from '../documents.mjs';
import { schemaFacts } from '../schema-facts.mjs';
import { graphqlUrl, headers, print, projectId } from '../settings.mjs';
import { webSocket } from '../web-socket.mjs';

const { possibleTypes } = await schemaFacts();
const client = new ApolloClient({
  cache: new InMemoryCache({ possibleTypes }),
  link: ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(webSocket),
    new HttpLink({ uri: graphqlUrl, headers }),
  ),
  // One broker that is down costs its own fields only. With the default policy it would cost the whole result.
  defaultOptions: { watchQuery: { errorPolicy: 'all' }, query: { errorPolicy: 'all' } },
});

const followed = new Set();
client.watchQuery({ query: gql(BROKERS), variables: { projectId } }).subscribe(({ data, dataState }) => {
  if (dataState !== 'complete') return;
  print({ brokers: data.project.brokers.nodes });
  for (const { id } of data.project.brokers.nodes) follow(id);
});

/** The cache updates the rows with the ids of an event. Further clients change the list, so it is read again. */
function follow(brokerId) {
  if (followed.has(brokerId)) return;
  followed.add(brokerId);
  subscribe(CLIENTS, brokerId, (data) => print({ event: data?.connectedClients.kind }));
  subscribe(ACCOUNTS, brokerId, (data) => print({ accountEvent: data?.accessControl.kind }));
}

function subscribe(document, brokerId, next) {
  client.subscribe({ query: gql(document), variables: { brokerId } }).subscribe({
    next: ({ data }) => next(data),
    error: (error) => print({ error: error.message }),
  });
}
