import type { IClientOptions, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { subscribe } from '../../../support/subscription.ts';
import { embeddedWorld } from './embedded-world.ts';

const RESPONSES = '$CONTROL/cedalo/inspect/v1/response';

async function start() {
  const { service, brokerId, join } = await embeddedWorld();
  const rest = async (path: string) => {
    const at = `/api/projects/${service.projectId}/brokers/${brokerId}/client-inspect${path}`;
    return (await service.rest('GET', at)).body;
  };
  return { service, brokerId, join, rest };
}

/** It takes five messages and acknowledges none. */
async function joinStuck(join: (clientId: string, options: IClientOptions) => Promise<MqttClient>, clientId: string) {
  const client = await join(clientId, { protocolVersion: 5, properties: { receiveMaximum: 5 } });
  client.handleMessage = () => undefined;
  await client.subscribeAsync(clientId, { qos: 1 });
}

test('a list reports the current queues with all keys of the detail, and sends the broker one request per page', async () => {
  const { service, brokerId, join, rest } = await start();
  for (const id of ['s1', 's2', 's3']) await joinStuck(join, id);
  const publisher = await join('publisher');
  const asked: string[] = [];
  publisher.on('message', (_topic, payload) => {
    const { responses = [] } = JSON.parse(payload.toString());
    asked.push(...responses.map(({ command }: { command: string }) => command));
  });
  await publisher.subscribeAsync(RESPONSES);
  const LIST = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 10, filter: { value: "s", mode: STARTS_WITH }) { nodes {
    clientId unknownFields { field } queues {
      bytesIn bytesOut bytesMax messagesIn messagesMax messagesInQos12 messagesOut messagesOutQos12 pagedMessagesOut pagedMessagesMax
    }
  } } } }`;
  for (const round of [1, 2, 3]) {
    for (let index = 0; index < 5; index += 1) {
      await publisher.publishAsync('s1', 'ten bytes.', { qos: 1 });
      await publisher.publishAsync('s3', 'x', { qos: 1 });
    }
    const waiting = (round - 1) * 5;
    const { queues } = await rest('/detail?clientid=s1');
    expect(queues).toMatchObject({ messagesOut: waiting, messagesOutQos12: waiting, bytesOut: waiting * 10 });
    const listed = await rest('?filterValue=s&filterMode=startsWith');
    expect(listed.map(({ queues }: { queues: object }) => queues)).toMatchObject([
      { messagesOut: waiting, bytesOut: waiting * 10, pagedMessagesOut: 0 },
      { messagesOut: 0 },
      { messagesOut: waiting },
    ]);
    const { data } = await service.graphql(LIST, { id: brokerId });
    const [s1, s2] = data.broker.connectedClients.nodes;
    expect(s1).toEqual({ clientId: 's1', queues, unknownFields: [] });
    expect(s2.queues.messagesOut).toBe(0);
  }
  await rest('?count=10');
  await rest('?verbose=false');
  // Answered after all others.
  await publisher.publishAsync('$CONTROL/cedalo/inspect/v1', '{"commands":[{"command":"theEnd"}]}');
  await expect.poll(() => asked).toContain('theEnd');
  expect(asked.filter((command) => command === 'getQueues')).toHaveLength(3 * 2 + 1);
});

test('changes of queues alone send no event; an event reports the queues at the time when it is sent', async () => {
  const { service, brokerId, join } = await start();
  await joinStuck(join, 'stuck');
  const publisher = await join('publisher');
  const events = subscribe(
    service,
    service.root,
    'subscription ($id: ID!) { connectedClients(brokerId: $id) { kind sequence clients { clientId queues { messagesOut } } } }',
    { id: brokerId },
  );
  const { connectedClients: snapshot } = await events.until(() => true);
  for (let index = 0; index < 20; index += 1) await publisher.publishAsync('stuck', 'x', { qos: 1 });
  await joinStuck(join, 'other');
  for (let index = 0; index < 9; index += 1) await publisher.publishAsync('other', 'x', { qos: 1 });
  await join('last');
  const { connectedClients: change } = await events.until(({ connectedClients: { clients } }) =>
    clients.some(({ clientId }: { clientId: string }) => clientId === 'last'),
  );
  expect(change.sequence - snapshot.sequence).toBeLessThanOrEqual(2);
  expect(change.clients).not.toContainEqual(expect.objectContaining({ clientId: 'stuck' }));
});

test('a list contains what the broker acknowledged before the request, and no client that has gone', async () => {
  const { service, brokerId, join } = await start();
  const filter = { value: 'm', mode: 'STARTS_WITH' };
  const MANY =
    'mutation ($input: DisconnectClientsInput!) { disconnectClients(input: $input) { wouldDisconnectCount } }';
  const LIST = `query ($id: ID!, $filter: ConnectedClientFilter) { broker(id: $id) { connectedClients(first: 100, filter: $filter) { nodes { clientId } } } }`;
  const listed = async () => {
    const { data } = await service.graphql(LIST, { id: brokerId, filter });
    return data.broker.connectedClients.nodes.map(({ clientId }: { clientId: string }) => clientId);
  };
  expect(await listed()).toEqual([]);
  for (let round = 0; round < 50; round += 1) {
    const id = `m${round}`;
    const client = await join(id, { reconnectPeriod: 0 });
    if (round % 2 === 0) expect(await listed()).toEqual([id]);
    else {
      const { data } = await service.graphql(MANY, { input: { brokerId, filter, dryRun: true } });
      expect(data.disconnectClients.wouldDisconnectCount).toBe(1);
    }
    const ended = new Promise((resolve) => client.stream.once('close', resolve));
    await client.endAsync();
    await ended;
    expect(await listed()).toEqual([]);
  }
});

test('the error of an unknown client names it', async () => {
  const { rest } = await start();
  expect(await rest('/detail?clientid=nope')).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    message: 'There is no client "nope"',
  });
});
