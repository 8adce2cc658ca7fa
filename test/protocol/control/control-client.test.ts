import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { ControlClient } from '../../../src/protocol/control/control-client.ts';
import { parseResponsePayload } from '../../../src/protocol/control/response-payload.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink } from '../../support/link.ts';
import { ADMIN, sinceVersion, startMosquitto } from '../../support/mosquitto.ts';

async function clientOf(url: string, timeoutMs = 30_000): Promise<ControlClient> {
  const client = new ControlClient(await connectedLink({ url, ...ADMIN }), { timeoutMs });
  onTestFinished(() => client.close());
  return client;
}

/** Answers each command of a payload with `data`. */
function echo(payload: string): string {
  const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
  return JSON.stringify({
    responses: commands.map(({ command, correlationData, ...data }) => ({ command, correlationData, data })),
  });
}

test('Mosquitto responds to commands, and refusals have a code, the text and the name', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const client = await clientOf(broker.url);
  await expect(client.call('dynamic-security', 'createRole', { rolename: 'r' })).resolves.toBeUndefined();
  await expect(client.call('dynamic-security', 'listRoles')).resolves.toEqual({ totalCount: 2, roles: ['admin', 'r'] });
  await expect(client.call('dynamic-security', 'createRole', { rolename: 'r' })).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
    info: { brokerError: 'Role already exists', name: 'r' },
  });
  await expect(client.call('dynamic-security', 'getClient', { username: 'nobody' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'Client not found: "nobody"',
  });
  await expect(client.call('dynamic-security', 'getNothing')).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
  });
});

test('null fields are removed, so that Mosquitto accepts the command', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const client = await clientOf(broker.url);
  const fields = { username: 'u', clientid: null, textname: undefined, groups: null };
  await client.call('dynamic-security', 'createClient', fields);
  await expect(client.call('dynamic-security', 'getClient', { username: 'u' })).resolves.toMatchObject({
    client: { username: 'u' },
  });
});

test('commands of one event loop iteration are sent in one payload, in order', async () => {
  const broker = await startScriptedBroker((_topic, payload) => [echo(payload)]);
  const client = await clientOf(broker.url);
  await client.call('dynamic-security', 'listRoles');
  const answers = await Promise.all(
    [...Array(20).keys()].map((n) => client.call('dynamic-security', 'getRole', { n })),
  );
  expect(answers).toEqual([...Array(20).keys()].map((n) => ({ n })));
  expect(broker.requests).toHaveLength(2);
  await Promise.all([...Array(25).keys()].map((n) => client.call('dynamic-security', 'deleteRole', { n })));
  expect(broker.requests.slice(2).map((text) => JSON.parse(text).commands.length)).toEqual([10, 10, 5]);
});

test('a group of commands has a separate payload, and each command is settled separately', async () => {
  const broker = await startScriptedBroker((_topic, payload) => [echo(payload)]);
  const client = await clientOf(broker.url);
  await client.call('dynamic-security', 'listRoles');
  const deletions = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ command: 'deleteRole', fields: { n } }));
  const [, group, , other] = await Promise.all([
    client.call('dynamic-security', 'deleteRole', { n: 0 }),
    client.callAll('dynamic-security', deletions(150)),
    client.call('dynamic-security', 'deleteRole', { n: 1 }),
    client.callAll('dynamic-security', deletions(2)),
  ]);
  expect(group).toEqual(deletions(150).map(({ fields }) => ({ status: 'fulfilled', value: fields })));
  expect(other).toHaveLength(2);
  const sizes = broker.requests.slice(1).map((text) => JSON.parse(text).commands.length);
  // Each group is alone; what is asked for one by one rides with its like.
  expect([...sizes].sort((a, b) => a - b)).toEqual(expect.arrayContaining([2, 150]));
  expect(sizes.reduce((sum, size) => sum + size)).toBe(154);
  expect(await client.callAll('dynamic-security', [])).toEqual([]);
});

test('a group that does not fit into one payload is sent in several, in order', async () => {
  const broker = await startScriptedBroker((_topic, payload) => [echo(payload)]);
  const client = await clientOf(broker.url);
  const text = 'x'.repeat(100_000);
  const results = await client.callAll(
    'dynamic-security',
    Array.from({ length: 12 }, (_, n) => ({ command: 'createRole', fields: { rolename: `${n}`, text } })),
  );
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : null))).toMatchObject(
    Array.from({ length: 12 }, (_, n) => ({ rolename: `${n}` })),
  );
  expect(broker.requests.map((request) => JSON.parse(request).commands.length)).toEqual([4, 4, 4]);
});

test('Mosquitto responds to each command of a group, and a refusal names what failed', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const client = await clientOf(broker.url);
  const results = await client.callAll('dynamic-security', [
    { command: 'createClient', fields: { username: 'u' } },
    { command: 'addClientRole', fields: { username: 'u', rolename: 'none' } },
    { command: 'addGroupClient', fields: { username: 'u', groupname: 'nowhere' } },
    { command: 'getClient', fields: { username: 'u' } },
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { reason: { code: 'NOT_FOUND', message: 'Role not found: "none"', info: { name: 'none' } } },
    { reason: { code: 'NOT_FOUND', message: 'Group not found: "nowhere"' } },
    { status: 'fulfilled', value: { client: { username: 'u' } } },
  ]);
});

test('all commands of a group are settled if the connection is lost', async () => {
  const broker = await startScriptedBroker(() => []);
  const client = await clientOf(broker.url);
  const results = client.callAll('dynamic-security', [{ command: 'deleteRole' }, { command: 'getRole' }]);
  await expect.poll(() => broker.requests.length).toBe(1);
  await broker.stop();
  expect(await results).toMatchObject([
    { status: 'rejected', reason: { code: 'BROKER_UNREACHABLE', info: { outcome: 'unknown' } } },
    { status: 'rejected', reason: { code: 'BROKER_UNREACHABLE' } },
  ]);
  // Not connected any more: nothing is sent, and nothing is left open.
  expect(await client.callAll('dynamic-security', [{ command: 'deleteRole' }])).toMatchObject([
    { status: 'rejected', reason: { code: 'BROKER_UNREACHABLE', info: { state: 'UNREACHABLE' } } },
  ]);
});

test('responses to other clients and late responses are reported by their commands, own ones are not', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const [one, two] = await Promise.all([clientOf(broker.url), clientOf(broker.url)]);
  const told: string[][] = [];
  one.onForeignAnswers('dynamic-security', (commands) => told.push([...commands]));
  await one.call('dynamic-security', 'createRole', { rolename: 'own' });
  await two.callAll('dynamic-security', [
    { command: 'createRole', fields: { rolename: 'r' } },
    { command: 'getRole', fields: { rolename: 'r' } },
  ]);
  await one.call('dynamic-security', 'listRoles');
  expect(told).toEqual([['createRole', 'getRole']]);

  const held: string[] = [];
  const slow = await startScriptedBroker((_topic, payload) => {
    held.push(echo(payload));
    return [];
  });
  const late = await clientOf(slow.url, 50);
  const lateCommands = new Promise((resolve) => {
    late.onForeignAnswers('dynamic-security', resolve);
  });
  await expect(late.call('dynamic-security', 'deleteRole')).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
    info: { outcome: 'unknown' },
  });
  await slow.publish('$CONTROL/dynamic-security/v1/response', held[0] ?? '');
  expect(await lateCommands).toEqual(['deleteRole']);
});

test('two clients of one broker only receive the responses to their own commands', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const [one, two] = await Promise.all([clientOf(broker.url), clientOf(broker.url)]);
  const calls = [...Array(200).keys()].map((n) => {
    const rolename = `role-${n}`;
    return (n % 2 ? one : two).call('dynamic-security', 'createRole', { rolename, textname: rolename });
  });
  await Promise.all(calls);
  const roles = await Promise.all(
    [...Array(200).keys()].map((n) =>
      (n % 2 ? two : one).call('dynamic-security', 'getRole', { rolename: `role-${n}` }),
    ),
  );
  expect(roles.map((data) => (data as { role: { textname: string } }).role.textname)).toEqual(
    [...Array(200).keys()].map((n) => `role-${n}`),
  );
});

test('a denied publish is NOT_ALLOWED when probed, and silence is BROKER_TIMEOUT', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const client = await clientOf(broker.url, 300);
  // The administrator that Mosquitto 2.0 makes may use dynamic security only.
  await expect(client.call('cedalo/inspect', 'listClients', {}, { probe: true })).rejects.toMatchObject({
    code: 'NOT_ALLOWED',
  });
  await expect(client.call('cedalo/inspect', 'listClients')).rejects.toMatchObject({
    // Mosquitto 2.1 also refuses the subscription to the responses.
    code: sinceVersion({ '2.0.0': 'BROKER_TIMEOUT', '2.1.0': 'NOT_ALLOWED' }),
  });
});

test('a write without a response before the connection was lost has an unknown outcome', async () => {
  const broker = await startScriptedBroker(() => []);
  const client = await clientOf(broker.url);
  const write = client.call('dynamic-security', 'deleteRole', { rolename: 'r' });
  const read = client.call('dynamic-security', 'getRole', { rolename: 'r' });
  const outcomes = Promise.allSettled([write, read]);
  await expect.poll(() => broker.requests.length).toBe(1);
  await broker.stop();
  const [lostWrite, lostRead] = await outcomes;
  expect(lostWrite).toMatchObject({ reason: { code: 'BROKER_UNREACHABLE', info: { outcome: 'unknown' } } });
  expect(lostRead).toMatchObject({ reason: { code: 'BROKER_UNREACHABLE' } });
  expect((lostRead as PromiseRejectedResult).reason.info).not.toHaveProperty('outcome');
});

test('"endpoint not available" fails the command; an error without correlation data is added to commands without a response', async () => {
  const answers: string[] = [];
  const broker = await startScriptedBroker(() => answers.splice(0));
  const client = await clientOf(broker.url);
  for (const more of ['', ',"responses":[]']) {
    answers.push(`{"error":"endpoint not available"${more}}`);
    await expect(client.call('cedalo/ha', 'getCluster')).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  }
  answers.push(
    '{"responses":[{"command":"createGroup","error":"Group already exists"},{"command":"Unknown command","error":"Payload not valid JSON"}]}',
  );
  await expect(client.call('cedalo/ha', 'getCluster', {}, { timeoutMs: 1_000 })).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
    message: expect.stringContaining('Payload not valid JSON'),
    info: { brokerError: 'Payload not valid JSON' },
  });
});

test('an invalid request of another client refuses no command', async () => {
  const refused = '{"responses":[{"command":"Unknown command","error":"Missing command"}]}';
  const broker = await startScriptedBroker((_topic, payload) => [refused, echo(payload)]);
  const client = await clientOf(broker.url);
  await expect(client.call('dynamic-security', 'deleteRole', { rolename: 'r' })).resolves.toBeDefined();
});

test('events reach their listeners', async () => {
  const broker = await startScriptedBroker((_topic, payload) => [echo(payload)]);
  const client = await clientOf(broker.url);
  await client.call('cedalo/inspect', 'listClients');
  const event = new Promise((resolve) => {
    client.onEvent('cedalo/inspect', resolve);
  });
  await broker.publish('$CONTROL/cedalo/inspect/v1/response', '{"type":"event","event":"clientsChanged","sequence":1}');
  expect(await event).toEqual({ type: 'event', event: 'clientsChanged', sequence: 1 });
});

test('garbage on the response topic neither breaks the client nor settles a command', async () => {
  const garbage = [
    '',
    '{',
    '[]',
    'null',
    '7',
    '{"responses":{}}',
    '{"responses":[null,1,"x",[],{"correlationData":{}}]}',
    '{"__proto__":{"responses":[]}}',
    '{"responses":[{"__proto__":{"error":"x"},"correlationData":"__proto__"}]}',
    `{"responses":[${'{},'.repeat(50_000)}{}]}`,
    '{"error":{}}',
    '['.repeat(10_000),
  ];
  const broker = await startScriptedBroker((_topic, payload) => [
    ...garbage,
    Buffer.from([0xff, 0xfe, 0]),
    echo(payload),
  ]);
  const client = await clientOf(broker.url);
  await expect(client.call('broker', 'listPlugins', { a: 1 })).resolves.toEqual({ a: 1 });
  expect(({} as Record<string, unknown>).error).toBeUndefined();
});

test('any payload is parsed or ignored', () => {
  const hostile = fc.oneof(
    fc.uint8Array(),
    fc.json({ maxDepth: 5 }).map((text) => Buffer.from(text)),
    fc.anything({ withNullPrototype: true }).map((value) => {
      let text: string | undefined;
      try {
        text = JSON.stringify({ responses: [value], type: 'event', event: value });
      } catch {
        // Big integers have no JSON.
      }
      return Buffer.from(text ?? '');
    }),
  );
  fc.assert(
    fc.property(hostile, (bytes) => {
      const { responses, events, error } = parseResponsePayload(bytes);
      for (const answer of responses) {
        expect(typeof answer.command).toBe('string');
        expect(answer.error === null || typeof answer.error === 'string').toBe(true);
        expect(answer.correlationData === null || typeof answer.correlationData === 'string').toBe(true);
      }
      for (const event of events) expect(typeof event.event).toBe('string');
      expect(error === null || typeof error === 'string').toBe(true);
    }),
  );
});

const BRACKETS: readonly (readonly [string, string])[] = [
  ['values', `{"responses":[${'{},'.repeat(2_700_000)}1]}`],
  ['levels', `{"responses":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}`],
  ['levels of objects', `${'{"a":'.repeat(1_600_000)}1`],
  ['texts', `{"responses":[${'"",'.repeat(2_700_000)}1]}`],
  ['names', `{"responses":[{${Array.from({ length: 199_000 }, (_, i) => `"${i}":0`).join('},{')}}]}`],
];

test.each(BRACKETS)('a large response that consists of %s is not parsed, asked for or not', async (_what, payload) => {
  const answers: string[] = [];
  const broker = await startScriptedBroker((_topic, request) => [...answers, echo(request)]);
  const client = await clientOf(broker.url);
  const foreign: (readonly string[])[] = [];
  client.onForeignAnswers('dynamic-security', (commands) => foreign.push(commands));
  answers.push(payload, payload, payload);
  await expect(client.call('dynamic-security', 'listRoles', { n: 1 })).resolves.toEqual({ n: 1 });
  // What is not parsed is reported as one unknown command.
  expect(foreign).toEqual([[''], [''], ['']]);
});

test('a response to another client has at most 30,000 values, and one that was asked for 400,000', async () => {
  const entries = (count: number) => Array.from({ length: count }, () => 0);
  const broker = await startScriptedBroker((_topic, request) => {
    const { commands } = JSON.parse(request);
    const [{ command, correlationData, count, asked }] = commands;
    if (command === 'listGroups') return [JSON.stringify({ responses: [{ command, data: entries(31_000) }] })];
    const foreign = { command: 'listClients', data: entries(asked ? 0 : count) };
    return [JSON.stringify({ responses: [{ command, correlationData, data: entries(asked ? count : 0) }] })].concat(
      asked ? [] : JSON.stringify({ responses: [foreign] }),
    );
  });
  const client = await clientOf(broker.url, 1_000);
  const foreign: (readonly string[])[] = [];
  client.onForeignAnswers('dynamic-security', (commands) => foreign.push(commands));
  const ask = (count: number, asked: boolean) => client.call('dynamic-security', 'listRoles', { count, asked });
  expect(await ask(390_000, true)).toHaveLength(390_000);
  await expect(ask(400_001, true)).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  await ask(29_000, false);
  await expect.poll(() => foreign).toEqual([[''], ['listClients']]);
  await ask(31_000, false);
  await expect.poll(() => foreign).toEqual([[''], ['listClients'], ['']]);
  // A response to another client while a command waits.
  await expect(client.call('dynamic-security', 'listGroups')).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  expect(foreign.at(-1)).toEqual(['']);
});
