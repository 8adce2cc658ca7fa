import { describe, expect, test } from 'vitest';
import { openStream } from '../../../support/event-stream.ts';
import { FOLLOWED_LOG, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';
import { accessWorld, addBroker, KINDS } from '../../access-control/access-service.ts';
import { DISCONNECT_MANY, type Result } from './operations.ts';

const LIST =
  'query ($b: ID!, $group: String!) { broker(id: $b) { connectedClients(filter: { groupName: $group }) { totalCount nodes { clientId } } } }';
const WATCH =
  'subscription ($b: ID!, $group: String!) { connectedClients(brokerId: $b, filter: { groupName: $group }) { kind totalCount clients { clientId } } }';
const JOIN = `mutation ($b: ID!, $username: String!) {
  addAccountGroup(input: { brokerId: $b, change: { username: $username, groupName: "crew" } }) { account { username } }
}`;
const CREATE =
  'mutation ($b: ID!) { createAccessGroup(input: { brokerId: $b, change: { groupName: "guests" } }) { group { id } } }';
const SET_ANONYMOUS =
  'mutation ($b: ID!) { setAnonymousGroup(input: { brokerId: $b, change: { groupName: "guests" } }) { group { id } } }';
const LEAVE = `mutation ($b: ID!, $username: String!) {
  removeAccountGroup(input: { brokerId: $b, change: { username: $username, groupName: "crew" } }) { account { username } }
}`;

describe.each(KINDS)('%s', (kind) => {
  test('the clients of a group are listed, followed as its members change, and disconnected', async () => {
    const { service, brokerId, graph, ask, client } = await accessWorld(kind);
    await ask('createGroup', { groupname: 'crew' });
    for (const username of ['ann', 'ben', 'eve']) await ask('createClient', { username, password: username });
    await ask('addGroupClient', { groupname: 'crew', username: 'ann' });
    const join = (username: string, clientId: string) =>
      client({ clientId, username, password: username, protocolVersion: 4, clean: false });
    const ann = await join('ann', 'a1');
    await join('ben', 'b1');
    const eve = await join('eve', 'e1');
    const listed = async () => {
      const { nodes } = (await graph(LIST, { group: 'crew' })).broker.connectedClients;
      return nodes.map(({ clientId }: Result) => clientId);
    };
    await expect.poll(listed).toEqual(['a1']);

    const events = subscribe(service, service.root, WATCH, { b: brokerId, group: 'crew' });
    const counts = (total: number) =>
      events.until(({ connectedClients: { kind, totalCount } }) => kind !== 'GAP' && totalCount === total);
    await counts(1);
    // A member that joins or leaves without this service, and one by this service.
    await ask('addGroupClient', { groupname: 'crew', username: 'ben' });
    await counts(2);
    await graph(LEAVE, { username: 'ben' });
    await counts(1);
    await graph(JOIN, { username: 'ben' });
    await counts(2);
    await graph(LEAVE, { username: 'ben' });
    await counts(1);
    expect(await listed()).toEqual(['a1']);

    const disconnect = async (dryRun: boolean) => {
      const input = { brokerId, filter: { groupName: 'crew' }, dryRun };
      return (await graph(DISCONNECT_MANY, { input })).disconnectClients;
    };
    const closed = new Promise((resolve) => ann.once('close', () => resolve(true)));
    const planned = await disconnect(true);
    expect(planned.results).toEqual([{ clientId: 'a1', status: 'WOULD_DISCONNECT', error: null }]);
    expect(ann.connected).toBe(true);
    const done = await disconnect(false);
    expect(done.results).toEqual([{ clientId: 'a1', status: 'DISCONNECTED', error: null }]);
    await closed;
    expect(eve.connected).toBe(true);

    await ask('deleteGroup', { groupname: 'crew' });
    await counts(0);
  });

  test('a group that the broker does not have is refused with NOT_FOUND', async () => {
    const { service, brokerId, refused } = await accessWorld(kind);
    expect((await refused(LIST, { group: 'nobody' })).extensions.code).toBe('NOT_FOUND');
    const input = { brokerId, filter: { groupName: 'nobody' } };
    expect((await refused(DISCONNECT_MANY, { input })).extensions.code).toBe('NOT_FOUND');
    const variables = { b: brokerId, group: 'nobody' };
    const stream = openStream('WebSocket', `${service.url}/graphql`, service.root, { query: WATCH, variables });
    expect((await stream.ended).errors).toEqual(['NOT_FOUND']);
  });
});

test('connections without a user name are clients of the anonymous group', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG, lines: ['allow_anonymous true'] });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  const listed = async () => {
    const { data } = await service.graphql(LIST, { b: brokerId, group: 'guests' });
    return data.broker.connectedClients?.nodes.map(({ clientId }: Result) => clientId);
  };
  await service.graphql(CREATE, { b: brokerId });
  await expect.poll(listed).toEqual([]);
  await startClient(mosquitto.url, { clientId: 'guest-1', clean: false });
  await mosquitto.client({ clientId: 'admin-1' });
  expect(await listed()).toEqual([]);
  await service.graphql(SET_ANONYMOUS, { b: brokerId });
  await expect.poll(listed).toEqual(['guest-1']);
});

test('a broker without dynamic security refuses a filter by group, and names the API that is missing', async () => {
  const mosquitto = await startMosquitto({ access: 'anonymous' });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  const { errors } = await service.graphql(LIST, { b: brokerId, group: 'crew' });
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { api: 'dynamic-security' },
  });
});
