import {
  graphql,
  httpSocket,
  openWebSocket,
  requestText,
  send,
  subscribeText,
  webSocketClosedWithin,
} from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { closedWithin } from '../mqtt-tools.ts';
import { copies, keys, previews, times } from './texts.ts';

const HOLD_MS = 5_000;
const INTROSPECTION =
  '{ __schema { types { name description fields { name description args { name description } type { name } } } } }';

/** Requests responses of 2 MB and does not read them. */
function unreadAnswers(target: Target): Promise<string> {
  const body = JSON.stringify({ query: previews(1), variables: copies('x'.repeat(15_500)) });
  const socket = httpSocket(target).pause();
  socket.write(requestText('/graphql', { body, token: target.viewer }));
  return closedWithin(socket, HOLD_MS);
}

async function unreadResults(target: Target): Promise<string> {
  const socket = await openWebSocket(target, target.viewer);
  if (socket === null) return 'refused';
  socket.pause();
  for (const id of times(60, String)) socket.send(subscribeText(id, INTROSPECTION));
  return webSocketClosedWithin(socket, HOLD_MS);
}

async function subscriptions(target: Target): Promise<string> {
  const socket = await openWebSocket(target, target.viewer);
  if (socket === null) return 'refused';
  const query = 'subscription ($id: ID!) { connectedClients(brokerId: $id) { kind sequence } }';
  for (const id of times(110, String)) socket.send(subscribeText(id, query, { id: target.brokerId }));
  return webSocketClosedWithin(socket, 2_000);
}

export const viewer: Group = {
  who: 'VIEWER',
  inputs: [
    {
      name: 'previews',
      what: 'previewStream under 30 names, 930 KB copied 66 times each',
      attack: (target) => graphql(target, previews(30), copies('x'.repeat(930_000)), target.viewer),
    },
    {
      name: 'preview',
      what: 'previewStream once, 930 KB copied 66 times',
      attack: (target) => graphql(target, previews(1), copies('x'.repeat(930_000)), target.viewer),
    },
    {
      name: 'unread-answers',
      what: 'a response of 2 MB that nobody reads, for 5 s',
      atOnce: 100,
      attack: unreadAnswers,
    },
    {
      name: 'unread-results',
      what: '60 introspections over a WebSocket that nobody reads, for 5 s',
      atOnce: 20,
      attack: unreadResults,
    },
    { name: 'subscriptions', what: '110 subscriptions over one WebSocket', atOnce: 100, attack: subscriptions },
    {
      name: 'refused-mutations',
      what: '50 mutations that a VIEWER may not run',
      attack: async (target) => {
        const query = 'mutation ($i: CreateUserInput!) { createUser(input: $i) { user { id } } }';
        const results = times(50, (i) => graphql(target, query, { i: { email: `u${i}@example.com` } }, target.viewer));
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
    {
      name: 'bridge-issues',
      what: 'a wrong bridge configuration of 500 KB',
      attack: (target) =>
        graphql(
          target,
          'mutation ($i: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $i) { bridge { id } } }',
          {
            i: {
              brokerId: target.brokerId,
              bridgeKey: 'mqtt-bridge',
              config: { connections: times(25_000, (i) => ({ name: i, url: '***' })) },
            },
          },
          target.viewer,
        ),
    },
    {
      name: 'unknown-keys-signed-in',
      what: '110,000 unknown keys in one variable, with a token',
      attack: (target) =>
        graphql(
          target,
          'mutation ($i: UpdateBrokerInput!) { updateBroker(input: $i) { broker { id } } }',
          { i: keys(110_000) },
          target.viewer,
        ),
    },
    {
      name: 'introspections',
      what: '10 introspections in documents of their own',
      attack: async (target, run) => {
        const results = times(10, (i) =>
          graphql(target, `${' '.repeat(run * 10 + i)}${INTROSPECTION}`, undefined, target.viewer),
        );
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
    {
      name: 'rest-lists',
      what: '20 lists of clients with filters of 4,000 characters',
      attack: async (target, run) => {
        const filter = `${run}-${'*a'.repeat(2_000)}`;
        const path = `/api/projects/${target.projectId}/brokers/${target.brokerId}/clients?filterValue=${filter}`;
        const results = times(20, () => send(target, { path, token: target.viewer }));
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
  ],
};
