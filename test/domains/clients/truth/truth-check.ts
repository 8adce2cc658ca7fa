import { expect } from 'vitest';
import { isLong } from '../../../support/suite.ts';
import type { TrueClient } from './crowd-member.ts';
import type { MirroredClient } from './mirror.ts';
import type { ObservedBroker } from './observed-broker.ts';
import type { Random } from './random.ts';
import type { Watcher } from './watchers.ts';

/** How long the last events may take. */
const PATIENCE_MS = 30_000;
const DETAILS = isLong ? 200 : 40;

/** Connections of the service itself. */
export const isGateway = (clientId: string) => clientId.startsWith('brokergraph-');

function expectedList(truth: readonly TrueClient[]): MirroredClient[] {
  return truth
    .map(({ clientId, connected, username }) => ({ clientId, connected, username: username ?? '<anonymous>' }))
    .sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
}

/** Waits until the watcher has the true list; on timeout the failure shows the difference. */
export async function expectHeld({ name, mirror }: Watcher, truth: readonly TrueClient[]): Promise<void> {
  const expected = expectedList(truth);
  const late = AbortSignal.timeout(PATIENCE_MS);
  await mirror.until(() => mirror.size >= expected.length && isSame(mirror.held(isGateway), expected), late);
  expect(difference(mirror.held(isGateway), expected), `held ${name}`).toEqual({ missing: [], untrue: [] });
}

const isSame = (held: readonly MirroredClient[], expected: readonly MirroredClient[]) =>
  JSON.stringify(held) === JSON.stringify(expected);

/** Whole lists are too long for a failure message. */
function difference(told: readonly MirroredClient[], expected: readonly MirroredClient[]) {
  const texts = (clients: readonly MirroredClient[]) =>
    new Set(clients.map(({ clientId, connected, username }) => `${clientId} | ${connected} | ${username}`));
  const [all, wanted] = [texts(told), texts(expected)];
  return {
    missing: [...wanted].filter((text) => !all.has(text)),
    untrue: [...all].filter((text) => !wanted.has(text)),
  };
}

/** Compares the whole list, in pages of the graph and by one REST request, with the true one. */
export async function expectLists(broker: ObservedBroker, truth: readonly TrueClient[]): Promise<void> {
  const expected = expectedList(truth);
  expect(await listByGraph(broker)).toEqual(expected);
  expect(await listByRest(broker)).toEqual(expected);
}

const PAGE = `query ($id: ID!, $after: String) { broker(id: $id) { connectedClients(first: 500, after: $after) {
  totalCount nodes { clientId connected: isConnected username isGateway } pageInfo { hasNextPage endCursor }
} } }`;

async function listByGraph({ service, brokerId }: ObservedBroker): Promise<MirroredClient[]> {
  const clients: MirroredClient[] = [];
  let after: string | null = null;
  do {
    const { data, errors } = await service.graphql(PAGE, { id: brokerId, after });
    expect(errors).toBeUndefined();
    const { nodes, pageInfo } = data.broker.connectedClients;
    for (const { isGateway: isOurs, ...client } of nodes)
      if (!isOurs && !isGateway(client.clientId)) clients.push(client);
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after !== null);
  return clients;
}

async function listByRest({ service, brokerId }: ObservedBroker): Promise<MirroredClient[]> {
  const { status, body } = await service.rest('GET', `${inspectPath(service.projectId, brokerId)}?count=-1`);
  expect(status).toBe(200);
  type Entry = { readonly clientid: string; readonly connected: boolean; readonly username: string };
  return body
    .filter(({ clientid }: Entry) => !isGateway(clientid))
    .map(({ clientid, connected, username }: Entry) => ({ clientId: clientid, connected, username }));
}

const inspectPath = (projectId: string, brokerId: string) =>
  `/api/projects/${projectId}/brokers/${brokerId}/client-inspect`;

const DETAIL = `query ($id: ID!, $clientId: String!) { broker(id: $id) { connectedClient(clientId: $clientId) {
  clientId connected: isConnected username protocolVersion keepalive cleanSession numSubscriptions subscriptions subscriptionDetails { topic qos }
} } }`;

/** Compares all fields of some clients, in the graph and by REST. */
export async function expectDetails(broker: ObservedBroker, truth: readonly TrueClient[], random: Random) {
  const { service, brokerId, isFollowed } = broker;
  const chosen = truth.length <= DETAILS ? truth : Array.from({ length: DETAILS }, () => random.pick(truth));
  for (const client of chosen) {
    const { clientId } = client;
    const count = client.subscriptions.length;
    const mayBeUntold = isFollowed && client.cleanSession !== true;
    const { data, errors } = await service.graphql(DETAIL, { id: brokerId, clientId });
    expect(errors).toBeUndefined();
    expect(inOrder(data.broker.connectedClient), clientId).toEqual({
      clientId,
      connected: client.connected,
      username: client.username ?? '<anonymous>',
      protocolVersion: client.protocolVersion === 5 ? 'V5' : 'V3_1_1',
      keepalive: client.keepalive,
      cleanSession: client.cleanSession ?? expect.any(Boolean),
      numSubscriptions: mayBeUntold ? expect.toBeOneOf([count, null]) : count,
      subscriptions: client.subscriptions.map(([filter]) => filter),
      subscriptionDetails: client.subscriptions.map(([topic, qos]) => ({ topic, qos })),
    });
    const path = `${inspectPath(service.projectId, brokerId)}/detail?clientid=${encodeURIComponent(clientId)}`;
    const { body } = await service.rest('GET', path);
    expect({ ...body, subscriptions: [...body.subscriptions].sort() }, clientId).toMatchObject({
      clientid: clientId,
      connected: client.connected,
      keepalive: client.keepalive,
      protocolVersion: client.protocolVersion === 5 ? 'v5' : 'v3.1.1',
      ...(mayBeUntold ? {} : { numSubscriptions: count }),
      subscriptions: client.subscriptions.map(([filter]) => filter),
    });
  }
}

interface Subscriptions {
  readonly subscriptions: readonly string[];
  readonly subscriptionDetails: readonly { readonly topic: string; readonly qos: number }[];
}

/** Brokers list subscriptions in any order. */
const inOrder = <T extends Subscriptions>(client: T) => ({
  ...client,
  subscriptions: [...client.subscriptions].sort(),
  subscriptionDetails: [...client.subscriptionDetails].sort((a, b) => (a.topic < b.topic ? -1 : 1)),
});
