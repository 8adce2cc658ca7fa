import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommand } from '../../../src/app/cli/program.ts';
import { type AccessWorld, accessWorld, addBroker, KINDS } from '../../domains/access-control/access-service.ts';
import { temporaryFolder } from '../../support/database.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';

/** Runs one command on the data of the service, which may be running. `exit` is the exit code. */
async function run(world: AccessWorld | null, ...args: string[]): Promise<{ exit: number; out: string; err: string }> {
  return runWith('', world, ...args);
}

/** Runs a command with text on standard input. */
async function runWith(
  input: string,
  world: AccessWorld | null,
  ...args: string[]
): Promise<{ exit: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const { dataDir = temporaryFolder(), databaseUrl } = world?.service.config ?? {};
  const exit = await runCommand(['access', ...args], {
    readInput: async () => input,
    env: { DATA_DIR: dataDir, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) },
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    isTerminal: false,
    stop: new AbortController().signal,
    onBug: () => undefined,
  });
  return { exit, out, err };
}

const file = (name: string, content: unknown): string => {
  const path = `${temporaryFolder()}/${name}`;
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const READER = {
  rolename: 'reader',
  acls: [
    { aclType: 'subscribePattern', topic: 'secret/#', priority: 2, allow: false },
    { aclType: 'subscribePattern', topic: '#', allow: true },
  ],
};

test.each(KINDS)('the access control of %s is exported, planned, applied and explained', async (kind) => {
  const world = await accessWorld(kind);
  const { brokerId } = world;
  const before = JSON.parse((await run(world, 'export', brokerId)).out);
  expect(before).toMatchObject({ format: 'brokergraph/access-control', version: 1 });

  const document = {
    ...before,
    roles: [...before.roles, READER],
    clients: [
      ...before.clients,
      { username: 'ann', roles: [{ name: 'reader' }] },
      { username: 'bob', disabled: true },
      { username: 'eve' },
    ],
  };
  const wanted = file('wanted.json', document);
  const passwords = file('passwords.json', { ann: 'a secret' });

  const plan = await run(world, 'plan', brokerId, wanted, '--passwords', passwords);
  expect(plan).toMatchObject({ exit: 0, err: '' });
  expect(plan.out).toMatch(/^PLANNED +createRole rolename="reader"/m);
  expect(plan.out).toMatch(/^PLANNED +createClient username="ann" password="\*\*\*"/m);
  expect(plan.out).toContain('before they have a password: bob, eve\n');
  expect(plan.out).not.toContain('a secret');
  // No client can be connected with accounts that do not exist.
  expect(plan.out).not.toMatch(/connected/i);
  expect(plan.out).toContain('`--passwords` when the accounts are created');
  const piped = await runWith(JSON.stringify(document), world, 'plan', brokerId, '-', '--passwords', passwords);
  expect(piped).toEqual(plan);
  const secrets = await runWith('{ "ann": "a secret" }', world, 'plan', brokerId, wanted, '--passwords', '-');
  expect(secrets).toEqual(plan);
  expect(JSON.parse((await run(world, 'export', brokerId)).out)).toEqual(before);

  const applied = await run(world, 'apply', brokerId, wanted, '--passwords', passwords);
  expect(applied).toMatchObject({ exit: 0, err: '' });
  expect(applied.out).toMatch(/^APPLIED +createClient username="ann"/m);
  expect(applied.out).toMatch(/before they have a password: bob, eve\n.*setAccountPassword/);
  const ann = await world.ask('getClient', { username: 'ann' });
  expect(ann).toMatchObject({ client: { username: 'ann', roles: [{ rolename: 'reader' }] } });

  const again = await run(world, 'apply', brokerId, wanted, '--passwords', passwords, '--json');
  expect(JSON.parse(again.out)).toMatchObject({ outcome: 'UNCHANGED', changes: [], needPassword: [] });
  expect(again.out).toContain('--set-passwords');
  const late = file('late.json', { ann: 'a secret', bob: 'another secret' });
  const set = await run(world, 'apply', brokerId, wanted, '--passwords', late, '--set-passwords');
  expect(set).toMatchObject({ exit: 0, out: expect.stringMatching(/^APPLIED +setClientPassword username="bob"/m) });
  expect(set.out).not.toContain('secret"');
  const output = `${temporaryFolder()}/export.json`;
  expect((await run(world, 'export', brokerId, '--output', output)).out).toBe('');
  expect(JSON.parse(readFileSync(output, 'utf8'))).toMatchObject({ clients: expect.arrayContaining(document.clients) });

  const allowed = await run(world, 'explain', brokerId, 'subscribe', 'open/#', '--username', 'ann', '--client-id', 'c');
  expect(allowed).toMatchObject({
    exit: 0,
    out: expect.stringMatching(
      /^ALLOWED: .*\n\nROLE .*\nreader .*not matched\nreader .*allow subscribePattern .* matched\n/,
    ),
  });
  const denied = await run(world, 'explain', brokerId, 'subscribe', 'secret/a', '--username', 'ann', '--json');
  expect(JSON.parse(denied.out)).toMatchObject({ allowed: false, reason: 'RULE', lookedAtTotal: 1 });
  const without = await run(
    world,
    'explain',
    brokerId,
    'SUBSCRIBE',
    'a',
    '--username',
    'ann',
    '--without-role',
    'reader',
  );
  expect(without.out).toMatch(/^DENIED: by the default/);
  expect(without.exit).toBe(0);
  const asked = ['explain', brokerId, 'subscribe', 'open/#', '--username', 'ann', '--client-id', 'c', '--exit-code'];
  expect(await run(world, ...asked)).toEqual(allowed);
  const no = await run(world, ...asked, '--without-role', 'reader');
  expect(no).toMatchObject({ exit: 1, out: expect.stringMatching(/^DENIED: /), err: '' });
  const eve = ['explain', brokerId, 'subscribe', 'a', '--username', 'eve', '--json'];
  expect(JSON.parse((await run(world, ...eve)).out)).toMatchObject({ reason: 'DEFAULT', allowed: false });
  const withRole = await run(world, ...eve, '--with-role', 'reader');
  expect(JSON.parse(withRole.out)).toMatchObject({ reason: 'RULE', allowed: true });
  const anonymous = await run(world, 'explain', brokerId, 'publish', 'a');
  expect(anonymous).toMatchObject({ exit: 0, out: expect.stringMatching(/^DENIED: /) });

  // The plan lists the clients of removed accounts, and they stay connected until `apply`.
  const connected = await world.client({ username: 'ann', password: 'a secret', clientId: 'device' });
  const back = file('before.json', before);
  const removal = await run(world, 'plan', brokerId, back, '--delete-others');
  expect(removal.out).toMatch(/^PLANNED +deleteClient username="ann"/m);
  expect(removal.out).toMatch(/Disconnects 1 connection:\n {2}device \(ann\)\n/);
  expect(connected.connected).toBe(true);
  const gone = new Promise<void>((resolve) => connected.once('close', () => resolve()));
  expect(await run(world, 'apply', brokerId, back, '--delete-others')).toMatchObject({ exit: 0, err: '' });
  await gone;
  expect(JSON.parse((await run(world, 'export', brokerId)).out)).toEqual(before);
});

test('the plan for a file of Mosquitto lists what is left out', async () => {
  const world = await accessWorld('Mosquitto 2.0');
  const dynsec = file('dynamic-security.json', {
    roles: [{ rolename: 'reader', acls: [] }],
    clients: [
      { username: 'ann\u001b[2J', password: 'aGFzaA==', salt: 'c2FsdA==', iterations: 101 },
      { username: 'bob', password: 'aGFzaA==' },
    ],
  });
  const { exit, out } = await run(world, 'plan', world.brokerId, dynsec, '--mosquitto-file');
  expect(exit).toBe(0);
  expect(out).toMatch(/^PLANNED +createClient username="bob"/m);
  expect(out).toMatch(/^Note: The file contains password hashes.*"bob"/m);
  // Names come from files of other users.
  expect(out).not.toContain('\u001b');
  expect((await run(world, 'plan', world.brokerId, dynsec)).exit).toBe(1);
  const complete = { ...JSON.parse(readFileSync(dynsec, 'utf8')), defaultACLAccess: { subscribe: true } };
  const detected = await run(world, 'plan', world.brokerId, file('complete.json', complete));
  expect(detected.exit).toBe(0);
  expect(detected.out).toMatch(/^PLANNED +createClient username="bob"/m);
});

test('without a running service the commands connect themselves, and only to the required broker', async () => {
  const idle = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const world = await accessWorld('Mosquitto 2.0');
  const { service, brokerId } = world;
  const idleId = await addBroker(service, idle.url);
  const before = await run(world, 'export', brokerId);
  expect(before.exit).toBe(0);
  await service.close();
  const connections: string[] = [];
  const watcher = await idle.client({ clientId: 'watcher' });
  watcher.on('message', (_topic, payload) => connections.push(payload.toString()));
  await watcher.subscribeAsync('$SYS/broker/log/N');

  expect(await run(world, 'export', brokerId)).toEqual(before);
  const document = JSON.parse(before.out);
  const wanted = file('alone.json', { ...document, roles: [...document.roles, READER] });
  const plan = await run(world, 'plan', brokerId, wanted);
  expect(plan).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('createRole rolename="reader"') });
  expect(await run(world, 'apply', brokerId, wanted)).toMatchObject({ exit: 0, err: '' });
  const explained = await run(world, 'explain', brokerId, 'subscribe', 'a', '--username', 'admin');
  expect(explained).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('ALLOWED') });
  await idle.client({ clientId: 'afterwards' });
  await expect.poll(() => connections.join('\n')).toContain('as afterwards');
  expect(connections.join('\n')).not.toContain(`as brokergraph-${idleId}`);
  expect((await run(world, 'export', idleId)).exit).toBe(0);
  await idle.stop();
  const down = await run(world, 'export', idleId);
  expect(down).toMatchObject({
    exit: 1,
    out: '',
    err: expect.stringMatching(/^error: The broker cannot be reached: /),
  });
});

test('a broker of the service is not reachable without the service, and the error says so', async () => {
  const world = await accessWorld('the embedded broker');
  await world.service.close();
  const { exit, out, err } = await run(world, 'export', world.brokerId);
  expect([exit, out]).toEqual([1, '']);
  expect(err).toMatch(/^error: The broker "Embedded broker" runs inside the service.*start the service/i);
});

test('invalid input is refused with its path, and nothing is sent', async () => {
  const world = await accessWorld('Mosquitto 2.0');
  const { brokerId } = world;
  const missing = await run(world, 'plan', brokerId, '/nowhere.json');
  expect(missing).toMatchObject({ exit: 1, out: '', err: 'error: The file /nowhere.json cannot be read\n' });
  expect((await run(world, 'plan', brokerId, file('a.json', '{'))).err).toMatch(/is not valid JSON/);
  expect((await runWith('{', world, 'plan', brokerId, '-')).err).toBe('error: Standard input is not valid JSON\n');
  expect((await runWith('{}', world, 'plan', brokerId, '-', '--passwords', '-')).err).toMatch(/cannot both/);
  const bad = {
    ...JSON.parse((await run(world, 'export', brokerId)).out),
    clients: [{ username: 'a', roles: [{ name: 'x' }] }],
  };
  const refused = await run(world, 'apply', brokerId, file('bad.json', bad));
  expect(refused).toMatchObject({ exit: 1, out: '' });
  expect(refused.err).toContain('/clients/0/roles/0/name');
  const good = file('good.json', { ...bad, clients: [] });
  expect((await run(world, 'plan', brokerId, good)).exit).toBe(0);
  expect((await run(world, 'plan', brokerId, good, '--passwords', file('p.json', { a: 1 }))).err).toMatch(/a: must be/);
  expect((await run(world, 'export', 'no-such-broker')).exit).toBe(1);
  expect((await run(world, 'explain', brokerId, 'explode', 'a')).exit).toBe(2);
});

test('each command describes its options', async () => {
  const help = await run(null, '--help');
  for (const command of ['export', 'plan', 'apply', 'explain']) {
    expect(help.out).toContain(command);
    expect((await run(null, command, '--help')).out).toContain('--json');
  }
  expect((await run(null, 'apply', '--help')).out).toMatch(
    /--mosquitto-file[\s\S]*--delete-others[\s\S]*--passwords[\s\S]*--set-passwords/,
  );
});
