import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { type AccessWorld, accessWorld, addBroker, KINDS } from './access-service.ts';
import { mosquittoDialect } from './dialects.ts';

const text = (value: string) => encodeURIComponent(value);

/** The outcome of a write: 204, or the error's code. */
const write = async ({ rest }: AccessWorld, method: string, path: string, body?: unknown) => {
  const { status, body: error } = await rest(method, path, body);
  return error === undefined ? status : [status, error.code];
};

const worlds = {
  'the embedded broker': shared(() => accessWorld('the embedded broker')),
  'Mosquitto 2.0': shared(() => accessWorld('Mosquitto 2.0')),
};

describe.each(KINDS)('on %s', (kind) => {
  test('clients are created, listed, changed, enabled and deleted', async () => {
    const world = await worlds[kind]();
    const { rest, ask } = world;
    expect(await write(world, 'POST', '/roles', { rolename: 'r', textname: null })).toBe(204);
    expect(await write(world, 'POST', '/groups', { groupname: 'g', textname: 'G' })).toBe(204);
    const body = {
      username: 'pump',
      password: 'secret',
      clientid: 'c1',
      textname: 'Pump',
      textdescription: null,
      groups: [{ groupname: 'g' }],
      roles: [{ rolename: 'r' }],
    };
    expect(await write(world, 'POST', '/clients', body)).toBe(204);
    expect(await write(world, 'POST', '/clients', body)).toEqual([400, 'ALREADY_EXISTS']);
    await world.client({ clientId: 'c1', username: 'pump', password: 'secret' });

    const list = await rest('GET', '/clients?filterValue=um&filterMode=contains');
    expect(list.headers.get('x-total-count')).toBe('1');
    expect(list.body).toEqual([
      {
        username: 'pump',
        clientid: 'c1',
        textname: 'Pump',
        roles: [{ rolename: 'r' }],
        groups: [{ groupname: 'g' }],
        connections: [{ address: expect.stringContaining('127.0.0.1') }],
      },
    ]);
    const names = await rest('GET', '/clients?verbose=false');
    expect(names.body).toEqual(['admin', 'pump']);
    expect(names.headers.get('x-total-count')).toBe('2');
    expect((await rest('GET', '/clients?verbose=false&count=1&offset=1')).body).toEqual(['pump']);
    expect((await rest('GET', '/clients?count=0')).body).toEqual([]);
    expect((await rest('GET', '/clients?verbose=false&filterTarget=groupname&filterValue=g')).body).toEqual(['pump']);
    expect((await rest('GET', '/clients?filterTarget=shoesize&filterValue=g')).body.code).toBe('INVALID');
    expect((await rest('GET', '/clients?filterMode=regex&filterValue=g')).body.code).toBe('INVALID');

    for (const ignored of [
      'verbose=false&count=0&offset=7&filterValue=nothing',
      'verbose=no&count=all&filterMode=regex',
    ]) {
      const one = await rest('GET', `/clients?username=pump&${ignored}`);
      expect(one.body).toMatchObject([{ username: 'pump', clientid: 'c1' }]);
      expect(one.body).toHaveLength(1);
    }
    expect((await rest('GET', '/clients?username=nobody')).status).toBe(404);
    expect((await rest('GET', '/clients?username=pump&filterTraget=rolename')).body.info.issues).toEqual([
      { path: 'filterTraget', reason: 'is not known here; is "filterTarget" meant?' },
    ]);

    // Null clears texts and client id; it leaves lists and the password alone.
    const change = {
      username: 'pump',
      password: null,
      clientid: null,
      textname: null,
      textdescription: 'd',
      groups: null,
    };
    expect(await write(world, 'PUT', '/clients', change)).toBe(204);
    const { client } = await ask('getClient', { username: 'pump' });
    expect([client.clientid || null, client.textname || null]).toEqual([null, null]);
    expect(client).toMatchObject({ textdescription: 'd', groups: [{ groupname: 'g' }], roles: [{ rolename: 'r' }] });
    await world.client({ clientId: 'any', username: 'pump', password: 'secret' });
    expect(await write(world, 'PUT', '/clients', { username: 'pump', roles: [], groups: [] })).toBe(204);
    expect((await ask('getClient', { username: 'pump' })).client).toMatchObject({ roles: [], groups: [] });
    expect(await write(world, 'PUT', '/clients', { username: 'nobody' })).toEqual([404, 'NOT_FOUND']);

    expect(await write(world, 'PUT', '/clients/enable', { username: 'pump', enable: false })).toBe(204);
    expect((await ask('getClient', { username: 'pump' })).client.disabled).toBe(true);
    expect(await write(world, 'PUT', '/clients/enable', { username: 'pump', enable: true })).toBe(204);
    expect((await ask('getClient', { username: 'pump' })).client.disabled ?? false).toBe(false);
    expect(await write(world, 'DELETE', '/clients?username=pump')).toBe(204);
    expect(await write(world, 'DELETE', '/clients?username=pump')).toEqual([404, 'NOT_FOUND']);
    expect(await ask('getClient', { username: 'pump' })).toBe('Client not found');
    for (const path of ['/groups?groupname=g', '/roles?rolename=r']) await rest('DELETE', path);
  });

  test('groups and roles are created, listed, changed and deleted', async () => {
    const world = await worlds[kind]();
    const { rest, ask } = world;
    const acl = { acltype: 'publishClientSend', topic: 'a/+', priority: 3, allow: true };
    expect(await write(world, 'POST', '/roles', { rolename: 'r' })).toBe(204);
    expect(
      await write(world, 'PUT', '/roles', { rolename: 'r', textname: 'R', acls: [acl], allowwildcardsubs: null }),
    ).toBe(204);
    const roles = await rest('GET', '/roles?filterTarget=topic&filterValue=a/&filterMode=startsWith');
    const hasFlag = kind === 'the embedded broker' || mosquittoDialect().wildcardFlag;
    const flag = hasFlag ? { allowwildcardsubs: true } : {};
    expect(roles.body).toEqual([{ rolename: 'r', textname: 'R', ...flag, acls: [acl] }]);
    expect(await write(world, 'PUT', '/roles', { rolename: 'r', textname: null, acls: null })).toBe(204);
    expect((await ask('getRole', { rolename: 'r' })).role.acls).toEqual([acl]);

    expect(await write(world, 'POST', '/clients', { username: 'u' })).toBe(204);
    expect(await write(world, 'POST', '/groups', { groupname: 'g', textname: 'G', textdescription: 'd' })).toBe(204);
    const members = { groupname: 'g', clients: [{ username: 'u' }], roles: [{ rolename: 'r' }] };
    expect(await write(world, 'PUT', '/groups', members)).toBe(204);
    const whole = { ...members, textname: 'G', textdescription: 'd' };
    expect((await rest('GET', '/groups?filterValue=g&filterMode=equals')).body).toEqual([whole]);
    expect((await rest('GET', '/groups?filterValue=u&filterTarget=username&verbose=false')).body).toEqual(['g']);
    expect(await write(world, 'PUT', '/groups', { groupname: 'g', clients: null, roles: null, textname: 'H' })).toBe(
      204,
    );
    expect((await rest('GET', '/groups?filterValue=g&filterMode=equals')).body).toEqual([{ ...whole, textname: 'H' }]);
    expect(await write(world, 'PUT', '/groups', { groupname: 'g', clients: [{ username: 'none' }] })).toEqual([
      404,
      'NOT_FOUND',
    ]);
    expect((await ask('getGroup', { groupname: 'g' })).group.clients).toMatchObject([{ username: 'u' }]);

    expect(await write(world, 'DELETE', '/groups?groupname=g')).toBe(204);
    expect(await write(world, 'DELETE', '/groups?groupname=g')).toEqual([404, 'NOT_FOUND']);
    expect(await write(world, 'DELETE', '/roles?rolename=r&dryRun=true')).toEqual([400, 'INVALID']);
    expect((await ask('getRole', { rolename: 'r' })).role.rolename).toBe('r');
    expect(await write(world, 'DELETE', '/roles?rolename=r')).toBe(204);
    expect((await rest('GET', '/roles?filterValue=r&filterMode=equals')).body).toEqual([]);
    await rest('DELETE', '/clients?username=u');
  });

  test('the default ACL is a list of lists when read and a list when written', async () => {
    const { rest, ask } = await worlds[kind]();
    const before = await rest('GET', '/acldefault');
    expect(Object.keys(before.body)).toEqual(['acls']);
    const [entries] = before.body.acls;
    expect(entries.map(({ acltype }: { acltype: string }) => acltype)).toEqual([
      'publishClientSend',
      'publishClientReceive',
      'subscribe',
      'unsubscribe',
    ]);
    const other = [{ acltype: 'subscribe', allow: !entries[2].allow }];
    expect((await rest('PUT', '/acldefault', other)).status).toBe(204);
    expect((await ask('getDefaultACLAccess')).acls).toContainEqual(other[0]);
    expect((await rest('GET', '/acldefault')).body.acls[0][2]).toEqual(other[0]);
    for (const body of [{}, [{ acltype: 'write', allow: true }], [{ acltype: 'subscribe' }], 'x']) {
      expect((await rest('PUT', '/acldefault', body)).body).toMatchObject({ code: 'INVALID', status: 400 });
    }
  });

  test('names with slashes, wildcards, percent signs, spaces and other scripts survive the round trip', async () => {
    const world = await worlds[kind]();
    for (const name of ['a/b', 'x%2Fy', 'ü ñ 字 😀', 'q?&=#+', 'it\'s "quoted"', ' lead']) {
      expect(await write(world, 'POST', '/roles', { rolename: name })).toBe(204);
      expect(await write(world, 'POST', '/groups', { groupname: name })).toBe(204);
      const client = { username: name, groups: [{ groupname: name }], roles: [{ rolename: name }] };
      expect(await write(world, 'POST', '/clients', client)).toBe(204);
      expect((await world.rest('GET', `/clients?username=${text(name)}`)).body).toMatchObject([client]);
      expect(
        (await world.rest('GET', `/groups?verbose=false&filterMode=equals&filterValue=${text(name)}`)).body,
      ).toEqual([name]);
      expect((await world.ask('getClient', { username: name })).client).toMatchObject(client);
      expect(await write(world, 'DELETE', `/clients?username=${text(name)}`)).toBe(204);
      expect(await write(world, 'DELETE', `/groups?groupname=${text(name)}`)).toBe(204);
      expect(await write(world, 'DELETE', `/roles?rolename=${text(name)}`)).toBe(204);
    }
  });
});

test('bodies are checked to the letter, and passwords are not in what refuses them', async () => {
  const { rest } = await worlds['Mosquitto 2.0']();
  const refused = [
    ['POST', '/clients', {}],
    ['POST', '/clients', { username: '' }],
    ['POST', '/clients', { username: 'u', role: [] }],
    ['POST', '/clients', { username: 'u', roles: null, password: 'hush hush' }],
    ['POST', '/clients', { username: 'u', roles: [{ rolename: '' }], password: 'hush hush' }],
    ['POST', '/clients', { username: 'u', groups: ['g'] }],
    ['PUT', '/clients', { username: 'u', password: 7 }],
    ['PUT', '/clients/enable', { username: 'u' }],
    ['PUT', '/clients/enable', { username: 'u', enable: 'yes' }],
    ['POST', '/groups', { groupname: 'g', clients: [] }],
    ['PUT', '/groups', { groupname: 'g', clients: ['u'] }],
    ['PUT', '/roles', { rolename: 'r', acls: [{ acltype: 'subscribe', topic: 't', priority: 0, allow: true }] }],
    ['PUT', '/roles', { rolename: 'r', acls: [{ acltype: 'subscribeLiteral', topic: 't', allow: true }] }],
    ['DELETE', '/clients', undefined],
    ['DELETE', '/roles?rolename=', undefined],
  ] as const;
  for (const [method, path, body] of refused) {
    const answer = await rest(method, path, body);
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 400, 'INVALID']);
    expect(answer.body.info.issues[0]).toMatchObject({ path: expect.any(String), reason: expect.any(String) });
    expect(JSON.stringify(answer.body)).not.toContain('hush');
  }
});

test('a value that the broker does not support is reported with its path in the request', async () => {
  const { rest, service, brokerId } = await worlds['Mosquitto 2.0']();
  const rules = ['a', 'a/#/b', 'c/%c'].map((topic) => ({
    acltype: 'subscribePattern',
    topic,
    priority: 0,
    allow: true,
  }));
  const empty = rules.slice(0, 2).map((rule, index) => ({ ...rule, topic: index === 0 ? 'a' : '' }));
  const placeholder = rules.filter(({ topic }) => topic !== 'a/#/b');
  await rest('POST', '/roles', { rolename: 'odd' });
  const refused: [method: string, path: string, body: unknown, places: readonly string[]][] = [
    ['PUT', '/roles', { rolename: 'odd', acls: rules }, ['/acls/1/topic']],
    ['PUT', '/roles', { rolename: 'odd', acls: empty }, ['/acls/1/topic']],
    ['POST', '/clients', { username: 'v', roles: [{ rolename: '\u0007' }] }, ['/roles/0/rolename']],
    ['POST', '/clients', { username: 'u\u0007', clientid: '\u0007' }, ['/username', '/clientid']],
    ['DELETE', '/clients?username=%07', undefined, ['username']],
  ];
  if (!mosquittoDialect().substitution) {
    refused.push(['PUT', '/roles', { rolename: 'odd', acls: placeholder }, ['/acls/1/topic']]);
  }
  for (const [method, path, body, places] of refused) {
    const answer = await rest(method, path, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID']);
    const { issues } = answer.body.info;
    expect(issues.map((issue: { path: string }) => issue.path)).toEqual(places);
    const said = issues.map((issue: { path: string; reason: string }) => `${issue.path}: ${issue.reason}`).join('; ');
    expect(answer.body.message).toBe(said);
  }
  const broker = `/api/projects/${service.projectId}/brokers/${brokerId}`;
  const key = await service.rest('PUT', broker, service.root, { client_key: 'no key' });
  expect(key.body.info.issues).toMatchObject([{ path: '/client_key' }]);
});

test('a list of thousands comes whole, page by page', async () => {
  const world = await accessWorld('the embedded broker');
  const changes = Array.from({ length: 1_100 }, (_, index) => ({
    createAccount: { username: `n${String(index).padStart(5, '0')}` },
  }));
  const { changeAccessControl } = await world.graph(
    'mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome } }',
    { input: { brokerId: world.brokerId, changes } },
  );
  expect(changeAccessControl.outcome).toBe('APPLIED');
  const list = await world.rest('GET', '/clients');
  expect(list.headers.get('x-total-count')).toBe('1101');
  expect(list.body.map(({ username }: { username: string }) => username)).toEqual([
    'admin',
    ...changes.map(({ createAccount }) => createAccount.username),
  ]);
});

test('a broker that is down is 503, and one without dynamic security 405', async () => {
  const { url } = await startMosquitto({ access: 'passwords' });
  const service = await startTestService();
  const down = `/api/projects/${service.projectId}/brokers/${await addBroker(service, 'mqtt://127.0.0.1:9')}`;
  const plain = `/api/projects/${service.projectId}/brokers/${await addBroker(service, url)}`;
  for (const [method, path, body] of [
    ['GET', '/clients', undefined],
    ['GET', '/acldefault', undefined],
    ['POST', '/groups', { groupname: 'g' }],
    ['DELETE', '/clients?username=u', undefined],
  ] as const) {
    const unreachable = await service.rest(method, `${down}${path}`, service.root, body);
    expect([path, unreachable.status, unreachable.body.code]).toEqual([path, 503, 'BROKER_UNREACHABLE']);
    expect(unreachable.headers.get('retry-after')).not.toBeNull();
    const unable = await service.rest(method, `${plain}${path}`, service.root, body);
    expect([path, unable.status, unable.body.code]).toEqual([path, 405, 'NOT_SUPPORTED_BY_BROKER']);
  }
});

test('a write whose response is lost permanently is 503 with the outcome UNKNOWN', async () => {
  const { port } = await startMosquitto({ access: 'dynsec' });
  const road = await roadTo(port, (text) => ({ text, cut: text.includes('createGroup') }));
  // What is lost is waited for several times as long.
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: '1000' } });
  const brokerId = await addBroker(service, `mqtt://127.0.0.1:${road.port}`);
  const path = `/api/projects/${service.projectId}/brokers/${brokerId}/groups`;
  await expect.poll(async () => (await service.rest('GET', path)).status).toBe(200);
  const { status, body } = await service.rest('POST', path, service.root, { groupname: 'g' });
  expect([status, body.code]).toEqual([503, 'BROKER_TIMEOUT']);
  expect(body.info).toMatchObject({
    outcome: 'UNKNOWN',
    commands: [{ command: 'createGroup', fields: { groupname: 'g' }, state: 'UNKNOWN' }],
  });
});

test('a write that a broker did in part is an error by REST, and an outcome in the graph', async () => {
  const { port } = await startMosquitto({ access: 'dynsec' });
  // The proxy replaces "role-1" with the name of a missing role.
  const road = await roadTo(port, (text) => ({
    text: text.includes('addClientRole') ? text.replaceAll('role-1', 'role-0') : text,
    cut: false,
  }));
  const service = await startTestService();
  const brokerId = await addBroker(service, `mqtt://127.0.0.1:${road.port}`);
  const at = `/api/projects/${service.projectId}/brokers/${brokerId}`;
  expect((await service.rest('POST', `${at}/roles`, service.root, { rolename: 'role-1' })).status).toBe(204);
  const client = { username: 'one', password: 'hush hush', roles: [{ rolename: 'role-1' }] };
  const answer = await service.rest('POST', `${at}/clients`, service.root, client);
  expect([answer.status, answer.body.code]).toEqual([400, 'BROKER_REJECTED']);
  const commands = [
    { command: 'createClient', state: 'APPLIED' },
    { command: 'addClientRole', state: 'REJECTED' },
  ];
  expect(answer.body.info).toMatchObject({ outcome: 'PARTLY_APPLIED', commands });
  expect(JSON.stringify(answer.body)).not.toContain('hush');
  expect((await service.rest('GET', `${at}/clients?username=one`)).body).toMatchObject([
    { username: 'one', roles: [] },
  ]);

  const { data, errors } = await service.graphql(
    `mutation ($input: CreateAccountInput!) { createAccount(input: $input) {
      outcome commands { command state } error { code } account { username roles { roleName } }
    } }`,
    { input: { brokerId, change: { username: 'two', password: 'hush hush', roles: [{ roleName: 'role-1' }] } } },
  );
  expect(errors).toBeUndefined();
  expect(data.createAccount).toEqual({
    outcome: 'PARTLY_APPLIED',
    commands,
    error: { code: expect.any(String) },
    account: { username: 'two', roles: [] },
  });
});

interface Passed {
  /** What goes on to the port. */
  readonly text: string;
  /** After that, the connection is closed permanently. */
  readonly cut: boolean;
}

/** A TCP proxy that inspects the data, and may replace it with the same number of bytes or close the connection. */
async function roadTo(port: number, pass: (text: string) => Passed): Promise<{ readonly port: number }> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = dial(port, '127.0.0.1');
    open.add(near).add(far);
    for (const socket of [near, far]) socket.on('error', () => undefined);
    far.pipe(near);
    near.on('data', (data) => {
      const { text: sent, cut } = pass(data.toString('latin1'));
      far.write(Buffer.from(sent, 'latin1'));
      if (!cut) return;
      server.close();
      for (const socket of open) socket.destroy();
    });
    near.on('close', () => far.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port };
}
