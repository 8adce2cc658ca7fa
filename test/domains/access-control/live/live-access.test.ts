import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type EventStream, openStream, TRANSPORTS, type Transport } from '../../../support/event-stream.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { sharedDatabase, startTestService, type TestService } from '../../../support/service.ts';
import { type AccessWorld, accessWorld, addBroker, KINDS } from '../access-service.ts';

const WATCH = `subscription ($b: ID!, $after: SafeInt) { accessControl(brokerId: $b, after: $after) {
  kind sequence isConnected removedIds accessControl { accountCount groupCount roleCount }
  broker { accounts(first: 1) { totalCount } accessRoles(first: 5) { nodes { id roleName } } }
  accounts { id username enabled roles { roleName priority } groups { groupName } }
  groups { id groupName isAnonymousGroup roles { roleName } }
  roles { id roleName acls { aclType topic allow } }
  defaultAcl { publishClientReceive }
} }`;

/** Another client of the broker. */
async function control({ url, credentials: { username, password } }: AccessWorld, ...command: string[]) {
  const connection = ['-h', '127.0.0.1', '-p', new URL(url).port, '-u', username, '-P', password];
  await promisify(execFile)('mosquitto_ctrl', [...connection, 'dynsec', ...command]);
}

const watch = (transport: Transport, { url, root }: TestService, brokerId: string, after?: number) =>
  openStream(transport, `${url}/graphql`, root, { query: WATCH, variables: { b: brokerId, after } });

// biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
type Event = any;

const next = async (stream: EventStream, fits: (event: Event) => boolean = () => true): Promise<Event> =>
  (await stream.until(({ accessControl }) => fits(accessControl))).accessControl;

const has = (list: string, key: string, name: string) => (event: Event) =>
  event[list].some((object: Record<string, unknown>) => object[key] === name);

const CREATE = `mutation ($b: ID!) {
  createAccessRole(input: {
    brokerId: $b
    change: { roleName: "reader", acls: [{ aclType: SUBSCRIBE_LITERAL, topic: "a", allow: true }] }
  }) { role { id } }
  createAccessGroup(input: { brokerId: $b, change: { groupName: "crew" } }) { group { id } }
}`;

const SET_DEFAULT = `mutation ($b: ID!) {
  setDefaultAcl(input: { brokerId: $b, change: { publishClientReceive: false } }) { defaultAcl { subscribe } }
}`;

describe.each(KINDS)('%s', (kind) => {
  test.each(TRANSPORTS)('changes by this service and by mosquitto_ctrl are sent over %s', async (transport) => {
    const world = await accessWorld(kind);
    const { service, brokerId } = world;
    const stream = watch(transport, service, brokerId);
    const first = await next(stream);
    const { accountCount, roleCount } = first.accessControl;
    expect([first.kind, first.isConnected, first.accounts, first.removedIds]).toEqual(['SNAPSHOT', true, [], []]);
    expect(first.broker.accounts.totalCount).toBe(accountCount);
    expect(first.broker.accessRoles.nodes).toHaveLength(Math.min(roleCount, 5));

    const { data, errors } = await service.graphql(CREATE, { b: brokerId });
    expect(errors).toBeUndefined();
    const created = await next(stream, has('roles', 'roleName', 'reader'));
    expect([created.kind, created.broker, created.defaultAcl]).toEqual(['CHANGE', null, null]);
    expect(created.accessControl.roleCount).toBe(roleCount + 1);
    expect(created.roles).toEqual([
      {
        id: data.createAccessRole.role.id,
        roleName: 'reader',
        acls: [{ aclType: 'SUBSCRIBE_LITERAL', topic: 'a', allow: true }],
      },
    ]);
    if (!has('groups', 'groupName', 'crew')(created)) await next(stream, has('groups', 'groupName', 'crew'));

    await control(world, 'createClient', 'device', '-p', 'secret');
    const foreign = await next(stream, has('accounts', 'username', 'device'));
    const [{ id: deviceId }] = foreign.accounts;
    expect(foreign.accessControl.accountCount).toBe(accountCount + 1);
    await control(world, 'addClientRole', 'device', 'reader', '5');
    const changed = await next(stream, has('accounts', 'username', 'device'));
    expect(changed.accounts).toMatchObject([{ id: deviceId, roles: [{ roleName: 'reader', priority: 5 }] }]);
    // Not by mosquitto_ctrl: `setDefaultACLAccess` of 2.0.11 changes nothing.
    expect((await service.graphql(SET_DEFAULT, { b: brokerId })).errors).toBeUndefined();
    const { defaultAcl } = await next(stream, (event) => event.defaultAcl !== null);
    expect([first.defaultAcl, defaultAcl]).toEqual([{ publishClientReceive: true }, { publishClientReceive: false }]);
    await control(world, 'setAnonymousGroup', 'crew');
    const { groups } = await next(stream, has('groups', 'groupName', 'crew'));
    expect(groups).toMatchObject([{ groupName: 'crew', isAnonymousGroup: true }]);

    await control(world, 'deleteClient', 'device');
    const removed = await next(stream, ({ removedIds }) => removedIds.length > 0);
    expect([removed.removedIds, removed.accounts]).toEqual([[deviceId], []]);

    const resumed = watch(transport, service, brokerId, changed.sequence);
    expect((await next(resumed)).kind).toBe('RESUMED');
    const again = await next(resumed, ({ removedIds }) => removedIds.length > 0);
    expect(again).toEqual(removed);
  });
});

const postgres = usePostgres();

test.skipIf(!postgres.available)(
  `a change by another process is sent${postgres.available ? '' : `: ${UNAVAILABLE}`}`,
  async () => {
    const env = { DATABASE_URL: await sharedDatabase(postgres), SECRET_KEY: '5e'.repeat(32) };
    const broker = await startMosquitto({ access: 'dynsec' });
    const one = await startTestService({ env });
    const two = await startTestService({ env });
    const brokerId = await addBroker(one, broker.url);
    await expect.poll(() => two.services.brokers.visibleIn(one.projectId, null).length).toBe(1);
    const stream = watch('WebSocket', two, brokerId);
    await next(stream, ({ kind }) => kind === 'SNAPSHOT');
    const { data } = await one.graphql(CREATE, { b: brokerId });
    const { roles } = await next(stream, has('roles', 'roleName', 'reader'));
    expect(roles).toMatchObject([{ id: data.createAccessRole.role.id }]);
  },
);
