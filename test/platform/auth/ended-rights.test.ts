import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { END_OF_RIGHTS, type EventStream, openedStream, TRANSPORTS } from '../../support/event-stream.ts';
import { FOLLOWED_LOG, type Mosquitto, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { isLong } from '../../support/suite.ts';
import { done, newToken, RIGHTS_ENDINGS, type World } from './rights-endings.ts';
import { SIGN_IN_ENDINGS } from './sign-in-endings.ts';

// A revoked permission ends every subscription that was opened with it. The change must be the cause: without it, the
// rights are read again after five minutes, later than the timeout of a test.

const CLIENTS = 'subscription ($b: ID!) { connectedClients(brokerId: $b) { kind clients { clientId } } }';
const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind brokers { broker { name } } } }';
const MESSAGES = 'subscription ($b: ID!) { messages(brokerId: $b, filter: "plant/#") { kind messages { topic } } }';
const SET_MEMBER = 'mutation ($i: SetProjectMemberInput!) { setProjectMember(input: $i) { member { role } } }';

interface LiveWorld extends World {
  readonly mosquitto: Mosquitto;
}

const CREATE_PROJECT = 'mutation ($i: CreateProjectInput!) { createProject(input: $i) { project { id } } }';

async function world(): Promise<LiveWorld> {
  const mosquitto = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'plant',
    url: mosquitto.url,
  });
  return { ...service, mosquitto, brokerId: body.id };
}

const running = shared(world);

test.each(TRANSPORTS)('rights that end close what was open with them over %s, and nothing else', async (transport) => {
  const service = await running();
  const clients = { query: CLIENTS, variables: { b: service.brokerId } };
  const bystander = await openedStream(transport, service, (await service.person('VIEWER')).token, clients);
  const endings = Object.entries({ ...RIGHTS_ENDINGS, ...SIGN_IN_ENDINGS });
  // How rights end does not depend on the transport.
  const tried = isLong || transport === 'WebSocket' ? endings : endings.slice(0, 4);
  for (const [what, { code, holder }] of tried) {
    const { token, end } = await holder(service);
    const stream = await openedStream(transport, service, token, clients);
    await end();
    const { close, errors } = await stream.ended;
    expect([what, close, errors]).toEqual([what, END_OF_RIGHTS[transport], [code]]);

    const clientId = what.replaceAll(' ', '-');
    await service.mosquitto.client({ clientId });
    await bystander.until(({ connectedClients }) =>
      connectedClients.clients.some((client: { clientId: string }) => client.clientId === clientId),
    );
  }
});

test.each(TRANSPORTS)(
  'a project that is removed ends what was open in it over %s, for root, too',
  async (transport) => {
    const service = await running();
    const { createProject } = (await done(service, CREATE_PROJECT, { name: 'short-lived' })) as {
      createProject: { project: { id: string } };
    };
    const { id } = createProject.project;
    const member = await service.person('EDITOR', id);
    const token = await newToken(service, { projectId: id });
    const other = { query: STATUS, variables: { p: service.projectId } };
    const status = { query: STATUS, variables: { p: id } };
    const bystander = await openedStream(transport, service, service.root, other);
    const ending = await Promise.all(
      [service.root, member.token, token.token].map((holder) => openedStream(transport, service, holder, status)),
    );
    await done(service, 'mutation ($i: DeleteProjectInput!) { deleteProject(input: $i) { deletedProjectId } }', {
      projectId: id,
    });
    for (const stream of ending) {
      const { close, errors } = await stream.ended;
      expect([close, errors]).toEqual([END_OF_RIGHTS[transport], [expect.stringMatching('NOT_ALLOWED|UNAUTHORIZED')]]);
    }
    await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
      name: 'next',
      url: 'mqtt://127.0.0.1:1',
    });
    await bystander.until(({ brokerStatus }) => brokerStatus.brokers[0]?.broker.name === 'next');
  },
);

test.each(TRANSPORTS)(
  'a role that is lowered ends what it was needed for over %s, not what the new one allows',
  async (transport) => {
    const service = await running();
    const [lowered, other] = [await service.person('EDITOR'), await service.person('EDITOR')];
    const clients = { query: CLIENTS, variables: { b: service.brokerId } };
    const messages = { query: MESSAGES, variables: { b: service.brokerId } };
    const seen = await openedStream(transport, service, lowered.token, clients);
    const read = await openedStream(transport, service, lowered.token, messages);
    const readByOther = await openedStream(transport, service, other.token, messages);
    await done(service, SET_MEMBER, { projectId: service.projectId, email: lowered.email, role: 'VIEWER' });
    const { close, errors } = await read.ended;
    expect([close, errors]).toEqual([END_OF_RIGHTS[transport], ['NOT_ALLOWED']]);

    const device = await service.mosquitto.client({ clientId: 'next' });
    await seen.until(({ connectedClients }) =>
      connectedClients.clients.some((client: { clientId: string }) => client.clientId === 'next'),
    );
    await device.publishAsync('plant/state', 'on');
    await readByOther.until((data) => data.messages.messages[0]?.topic === 'plant/state');
  },
);

/** One WebSocket for several subscriptions, each past its snapshot. */
function oneWebSocket(service: World, token: string) {
  let tell: (code: number) => void = () => undefined;
  const closed = new Promise<number>((resolve) => {
    tell = resolve;
  });
  const client = createClient({
    url: `${service.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { token },
    retryAttempts: 0,
    on: { closed: (event) => tell((event as { code: number }).code) },
  });
  onTestFinished(() => void client.dispose());
  const opened = async (query: string) => {
    const events = client.iterate({ query, variables: { b: service.brokerId } });
    expect((await events.next()).value?.errors).toBeUndefined();
    return events;
  };
  return { closed, opened };
}

const NOT_ALLOWED = { errors: [{ extensions: { code: 'NOT_ALLOWED' } }] };

test('over one WebSocket only the subscription ends whose rights ended; the last one takes the socket with it', async () => {
  const service = await world();
  const { token, email } = await service.person('EDITOR');
  const { closed, opened } = oneWebSocket(service, token);
  const [messages, clients] = [await opened(MESSAGES), await opened(CLIENTS)];
  await done(service, SET_MEMBER, { projectId: service.projectId, email, role: 'VIEWER' });
  expect((await messages.next()).value).toMatchObject(NOT_ALLOWED);
  expect((await messages.next()).done).toBe(true);

  await service.mosquitto.client({ clientId: 'next' });
  expect((await clients.next()).value).toMatchObject({
    data: { connectedClients: { clients: [{ clientId: 'next' }] } },
  });
  await service.services.projects.removeMember(service.projectId, email);
  // Changes of the client may be reported before the end.
  let last = await clients.next();
  while (!last.done && last.value.data) last = await clients.next();
  expect(last.value).toMatchObject(NOT_ALLOWED);
  expect(await closed).toBe(4403);
});

test('with the credential everything ends that runs over its WebSocket', async () => {
  const service = await running();
  const { token, id } = await newToken(service, { role: 'EDITOR' });
  const { closed, opened } = oneWebSocket(service, token);
  const all = [await opened(MESSAGES), await opened(CLIENTS)];
  await done(service, 'mutation ($i: RevokeTokenInput!) { revokeToken(input: $i) { revokedTokenId } }', {
    tokenId: id,
  });
  expect(await closed).toBe(4403);
  expect((await all[0]?.next())?.value).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHORIZED' } }] });
});

test('a change that keeps the permissions ends no subscription', async () => {
  const service = await running();
  const { token, email } = await service.person('EDITOR');
  const clients = { query: CLIENTS, variables: { b: service.brokerId } };
  const streams = await Promise.all(TRANSPORTS.map((transport) => openedStream(transport, service, token, clients)));
  for (const role of ['EDITOR', 'ADMIN', 'VIEWER']) {
    await done(service, SET_MEMBER, { projectId: service.projectId, email, role });
    const clientId = `after-${role}`;
    await service.mosquitto.client({ clientId });
    for (const stream of streams) {
      await stream.until(({ connectedClients }) =>
        connectedClients.clients.some((client: { clientId: string }) => client.clientId === clientId),
      );
    }
  }
});

test.each(TRANSPORTS)(
  'an organization’s member who leaves loses what its projects had open over %s',
  async (transport) => {
    const service = await running();
    const create = 'mutation ($i: CreateOrganizationInput!) { createOrganization(input: $i) { organization { id } } }';
    const made = (await done(service, create, { name: transport })) as {
      createOrganization: { organization: { id: string } };
    };
    const organizationId = made.createOrganization.organization.id;
    const { createProject } = (await done(service, CREATE_PROJECT, { name: 'of all', organizationId })) as {
      createProject: { project: { id: string } };
    };
    const set =
      'mutation ($i: SetOrganizationMemberInput!) { setOrganizationMember(input: $i) { organization { id } } }';
    const people = [await service.person(null), await service.person(null)] as const;
    for (const { email } of people) await done(service, set, { organizationId, email, role: 'MEMBER' });
    const status = { query: STATUS, variables: { p: createProject.project.id } };
    const [leaving, staying] = await Promise.all(
      people.map(({ token }) => openedStream(transport, service, token, status)),
    );
    const remove =
      'mutation ($i: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $i) { organization { id } } }';
    await done(service, remove, { organizationId, email: people[0].email });
    const { close, errors } = await (leaving as EventStream).ended;
    expect([close, errors]).toEqual([END_OF_RIGHTS[transport], ['NOT_ALLOWED']]);
    await service.rest('POST', `/api/projects/${createProject.project.id}/brokers`, service.root, {
      name: 'next',
      url: 'mqtt://127.0.0.1:1',
    });
    await staying?.until(({ brokerStatus }) => brokerStatus.brokers[0]?.broker.name === 'next');
  },
);

test.each(TRANSPORTS)(
  'a broker that is removed ends what watched it over %s as over, not as forbidden',
  async (transport) => {
    const service = await world();
    const clients = { query: CLIENTS, variables: { b: service.brokerId } };
    const stream = await openedStream(transport, service, service.root, clients);
    await service.rest('DELETE', `/api/projects/${service.projectId}/brokers/${service.brokerId}`);
    const { close, errors } = await stream.ended;
    // The client closes its WebSocket itself when nothing runs over it any more.
    expect([close, errors]).toEqual([transport === 'SSE' ? 'complete' : 1000, ['NOT_FOUND']]);
  },
);
