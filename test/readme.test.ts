import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { passwordFile } from '../src/engines/cloud-brokers/cloud-brokers.ts';
import { temporaryFolder } from './support/database.ts';
import { ADMIN, FOLLOWED_LOG, startClient, startMosquitto } from './support/mosquitto.ts';
import { usePostgres } from './support/postgres.ts';
import { ROOT, startTestService, type TestService } from './support/service.ts';
import { subscribe } from './support/subscription.ts';
import { suite } from './support/suite.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = readdirSync(`${root}docs`)
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const texts = new Map(['README.md', ...documents].map((name) => [name, readFileSync(`${root}${name}`, 'utf8')]));

/** The shell blocks below a heading of the README or of a document, in order. */
function shellBlocks(heading: string): string[] {
  const section =
    [...texts.values()]
      .join('\n## \n')
      .split(new RegExp(`^#+ ${heading}$`, 'm'))[1]
      ?.split(/^#{2,3} /m)[0] ?? '';
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
}

/** The shell blocks below a heading: those that end by themselves, and those that follow a subscription. */
function blocksByEnd(heading: string) {
  const follows = (block: string) => /^follow /m.test(block);
  const blocks = shellBlocks(heading);
  return { commands: blocks.filter((block) => !follows(block)), subscriptions: blocks.filter(follows) };
}

/** The functions that all examples use. */
const [functions = ''] = shellBlocks('The examples');

/** Replaces the default addresses and paths of an example with those of this service and its first broker. */
const here = (script: string, { url, config }: TestService, brokerUrl?: string | null) =>
  script
    .replaceAll('http://127.0.0.1:4000', url)
    .replaceAll('-p 1883', `-p ${brokerUrl ? new URL(brokerUrl).port : 1883}`)
    .replaceAll('data/brokers', `${config.dataDir}/brokers`);

/** Runs a script until it exits or `isEnough` returns true for its output, and returns the output. */
async function outputOf(
  script: string,
  env: NodeJS.ProcessEnv,
  isEnough = (_output: string) => false,
  cwd = temporaryFolder(),
) {
  // A separate process group, because child processes survive when only the shell is killed.
  const shell = spawn('bash', ['-ec', script], {
    cwd,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(shell, 'exit');
  let output = '';
  for await (const chunk of shell.stdout) {
    output += chunk;
    if (!isEnough(output)) continue;
    if (shell.pid !== undefined) process.kill(-shell.pid);
    return output;
  }
  expect(await exited, output).toEqual([0, null]);
  return output;
}

/** A service with its first broker. `run` runs an example there, see `outputOf`; `connect` starts a client. */
async function startExamples(env: Readonly<Record<string, string>> = {}) {
  const service = await startTestService({ embeddedBroker: true, env });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const folder = temporaryFolder();
  const { dataDir } = service.config;
  const variables = { PROJECT: service.projectId, BROKER: id, TOKEN: service.root, DATA_DIR: dataDir, TMPDIR: folder };
  const run = (script: string, isEnough?: (output: string) => boolean) =>
    outputOf(here(`${functions}\n${script}`, service, url), variables, isEnough, folder);
  const password = readFileSync(passwordFile(dataDir, id), 'utf8').trim();
  const connect = (clientId?: string) =>
    startClient(url ?? '', { username: 'admin', password, ...(clientId !== undefined && { clientId }) });
  return { service, id, url, folder, run, connect };
}

/** The steps to a first success with a password, run until they end, with a second broker whose password differs. */
async function firstSuccess(password: string) {
  const service = await startTestService({ embeddedBroker: true });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const added = await service.graphql(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { input: { projectId: service.projectId, name: 'second' } },
  );
  expect(added.errors).toBeUndefined();
  await expect.poll(() => readdirSync(`${service.config.dataDir}/brokers`)).toHaveLength(2);
  const script = here([...shellBlocks('First success'), ...shellBlocks('The examples')].join('\n'), service, url)
    .replaceAll('admin@localhost', ROOT.email)
    .replace("ROOT_PASSWORD='…'", `ROOT_PASSWORD='${password}'`);
  // A separate process group, because npx does not stop its child process when it is killed.
  const shell = spawn('bash', ['-c', script], { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    try {
      if (shell.pid !== undefined) process.kill(-shell.pid);
    } catch {
      // No process of the group runs.
    }
  });
  let [output, errors] = ['', ''];
  shell.stdout.on('data', (chunk: Buffer) => (output += chunk));
  shell.stderr.on('data', (chunk: Buffer) => (errors += chunk));
  const [code] = await once(shell, 'exit');
  return { service, id, code, output, errors };
}

test('the steps to a first success work as printed, also if there is a second broker', async () => {
  const { service, id, code, output, errors } = await firstSuccess(ROOT.password);
  expect(code, output + errors).toBe(0);
  const [token, ids, clients, inspected] = output.trim().split('\n');
  expect(token).toMatch(/^bgs_/);
  expect(ids).toBe(`${service.projectId} ${id}`);
  // Programs take a password that begins with a hyphen for an option.
  expect(readFileSync(`${service.config.dataDir}/brokers/${id}/password`, 'utf8')).toMatch(
    /^[a-z2-9]{5}(-[a-z2-9]{5}){3}$/,
  );
  expect(JSON.parse(clients ?? '').data.broker.connectedClients.nodes, errors).toMatchObject([
    { clientId: 'dev-17', username: 'admin' },
  ]);
  expect(JSON.parse(inspected?.replace(/200$/, '') ?? '')).toMatchObject([{ clientid: 'dev-17', username: 'admin' }]);
  expect(output).toMatch(/"capabilities":\[\{.*"provider":"BROKER"/);
  const [, live = ''] = /```graphql\n([\s\S]*?)```/.exec(texts.get('README.md') ?? '') ?? [];
  await subscribe(service, service.root, live, { broker: id }).until(
    ({ connectedClients: { kind, clients } }) =>
      kind === 'SNAPSHOT' && clients.some((client: { clientId: string }) => client.clientId === 'dev-17'),
  );
});

test('the steps to a first success stop with the error of a failed log-in', async () => {
  const { code, output, errors } = await firstSuccess('not the password');
  expect(code).not.toBe(0);
  expect(output).toBe('');
  expect(errors).toMatch(/TOKEN: \{"errors":\[\{"message":"[^"]*password/);
});

/** The smoke tests contain the README only. */
const ofDocuments = test.skipIf(suite === 'smoke');

ofDocuments('the steps of managing access work as printed', async () => {
  const { service, id, folder, run } = await startExamples();
  const { commands, subscriptions } = blocksByEnd('Manage access');
  const command = `'${process.execPath}' '${root}dist/main.js'`;
  const output = await run(commands.join('\n').replaceAll('node dist/main.js', command));
  expect(output.split('\n').slice(0, 5)).toEqual(Array(5).fill('204'));
  expect(output).toContain(
    '[{"username":"meter-1","roles":[{"rolename":"sensor"}],"groups":[{"groupname":"meters"}],"connections":[]}]',
  );
  expect(output).toContain('"settings":{"hasStrictRoles":true}');
  expect(output).toContain('{"data":{"explainAccess":{"allowed":true}}}');
  expect(output).toContain('"accounts":{"totalCount":1,"nodes":[{"username":"meter-1"}]');
  expect(output).toContain('{"username":"meter-1","reason":"RULE"}');
  expect(output).toContain('"allowed":true,"reason":"RULE","decidedBy":{"roleName":"sensor"');
  expect(output).toContain('"outcome":"PLANNED"');
  expect(output).toContain('"usernames":["meter-1"]');
  expect(output).toMatch(/^APPLIED +createClient username="meter-2" password="\*\*\*"/m);
  expect(output).not.toContain('before they have a password');
  expect(output.endsWith('\n204\n')).toBe(true);
  for (const block of subscriptions) {
    const followed = await run(block, (text) => text.includes('"kind":"SNAPSHOT"'));
    expect(followed).toContain('"accessControl":{"kind":"SNAPSHOT"');
  }
  const disabled = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { account(username: "meter-2") { enabled groups { groupName } } } }',
    { id },
  );
  expect(disabled.data.broker.account).toEqual({ enabled: false, groups: [{ groupName: 'meters' }] });
  const [files = ''] = readdirSync(folder);
  expect(readdirSync(`${folder}/${files}`).sort()).toEqual(['access.json', 'more.json']);
  expect(JSON.parse(readFileSync(`${folder}/${files}/access.json`, 'utf8')).clients).toContainEqual(
    expect.objectContaining({ username: 'meter-1' }),
  );
});

ofDocuments('a Mosquitto gets an account for the service, and another password, as printed', async () => {
  const service = await startTestService();
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const run = async (script: string, more: NodeJS.ProcessEnv) => {
    const command = here(functions, service)
      .concat(script)
      .replaceAll('broker.example.com:1883', `127.0.0.1:${mosquitto.port}`)
      .replaceAll('-p 1883', `-p ${mosquitto.port}`);
    const passwords = { ADMIN_PASSWORD: ADMIN.password, GATEWAY_PASSWORD: 'a secret', NEW_PASSWORD: 'another secret' };
    return outputOf(command, { ...passwords, PROJECT: service.projectId, TOKEN: service.root, ...more });
  };
  const [, account = '', add = '', change = ''] = shellBlocks('Add a Mosquitto of your own');
  const id = (await run(`${account}\n${add}`, {})).trim();
  const state = async () => {
    const { data } = await service.graphql(
      'query ($id: ID!) { broker(id: $id) { connection { state } capabilities { api provider reason } } }',
      { id },
    );
    return data.broker;
  };
  await expect.poll(state).toMatchObject({
    connection: { state: 'CONNECTED' },
    capabilities: expect.arrayContaining([
      { api: 'dynamic-security', provider: 'BROKER', reason: null },
      { api: 'cedalo/inspect', provider: 'GATEWAY', reason: null },
      { api: 'cedalo/client-control', provider: 'GATEWAY', reason: null },
    ]),
  });
  const [ctrl = ''] = account.split('\n');
  expect(JSON.parse(await run(`${ctrl}\n${change}`, { PLANT: id })).data.updateBroker.broker.id).toBe(id);
  await expect.poll(async () => (await state()).connection).toEqual({ state: 'CONNECTED' });
});

ofDocuments('a broker on Mosquitto is created, stopped, started and deleted as printed', async () => {
  const { service, run } = await startExamples();
  const blocks = shellBlocks('Brokers that this service runs');
  const output = await run(blocks.join('\n').replace('1893', '0').replace('8893', '0'));
  const [made = '', ...answers] = output.trim().split(/(?<=})\n?(?={"data")/);
  expect(JSON.parse(made).data.broker).toMatchObject({ engine: 'MOSQUITTO', state: 'ACTIVE', problem: null });
  expect(answers.map((answer) => Object.keys(JSON.parse(answer).data)[0])).toEqual([
    'setTargetState',
    'setTargetState',
    'deleteBroker',
  ]);
  expect(await service.storage.db.broker.count()).toBe(1);
});

ofDocuments('clients are listed, subscribed, unsubscribed and disconnected as printed', async () => {
  const { run, connect } = await startExamples();
  const device = await connect('dev-17');
  const disconnected = new Promise<void>((resolve) => device.once('close', () => resolve()));
  await connect('dev-18');
  const heard: string[] = [];
  device.on('message', (topic) => heard.push(topic));
  const { commands, subscriptions } = blocksByEnd('Clients');
  const snapshots = subscriptions.map((block) => run(block, (output) => output.includes('"kind":"SNAPSHOT"')));
  expect(await Promise.all(snapshots)).toEqual([expect.stringContaining('"clientId":"dev-17"')]);
  const output = await run(commands.join('\n'));
  await disconnected;
  expect(heard).toEqual(['news/today']);
  const [list = '', slow = '', receiving = '', subscribed, unsubscribed, gone, many = '', takeover = ''] = output
    .split('\n')
    .filter(Boolean);
  expect(JSON.parse(list).data.broker.connectedClients.nodes).toContainEqual(
    expect.objectContaining({ clientId: 'dev-17', isGateway: false, source: 'BROKER', unknownFields: [] }),
  );
  expect(JSON.parse(slow).data.broker.connectedClients.nodes).toEqual([]);
  expect(JSON.parse(receiving).data.broker.topicSubscribers).toEqual({ totalCount: 0, isComplete: true, nodes: [] });
  expect([subscribed, unsubscribed, gone]).toEqual(['204', '204', '{}200']);
  expect(JSON.parse(many).data.disconnectClients).toMatchObject({
    wouldDisconnectCount: 1,
    results: [{ clientId: 'dev-18', status: 'WOULD_DISCONNECT', error: null }],
  });
  expect(JSON.parse(takeover).data.updateBroker.broker).toEqual({ allowsClientTakeover: true });
});

ofDocuments('the metrics of a broker are read and watched as printed', async () => {
  const { run } = await startExamples();
  const [read = '', follow = ''] = shellBlocks("Watch a broker's numbers");
  const live = await run(follow, (output) => output.includes('"isStale":'));
  expect(live).toMatch(
    /^event: next\ndata: \{"data":\{"brokerMetrics":\{"kind":"SNAPSHOT","sequence":\d+,"isConnected":/m,
  );
  expect(live).toContain('"isStale":false');
  const { data } = JSON.parse(await run(read));
  expect(data.broker.currentMetrics).toMatchObject({ brokerVersion: expect.stringContaining('embedded') });
  expect(data.broker.metrics.clients.mean.length).toBeGreaterThan(0);
});

ofDocuments('messages are watched as printed', async () => {
  const { run, connect } = await startExamples();
  const [follow = ''] = shellBlocks('Follow messages');
  const client = await connect();
  const live = await run(follow, (output) => {
    if (output.includes('SNAPSHOT') && !output.includes('CHANGE')) client.publish('demo/1', 'hello');
    return output.includes('CHANGE') && output.includes('hello');
  });
  expect(live).toContain(
    '"messages":[{"topic":"demo/1","payload":"hello","payloadBase64":"aGVsbG8=","isTruncated":false',
  );
});

ofDocuments('a message is published, and retained messages are listed and deleted as printed', async () => {
  const { run } = await startExamples();
  const blocks = [...shellBlocks('Publish messages'), ...shellBlocks('Retained messages')];
  expect(blocks).toHaveLength(3);
  const output = await run(blocks.join('\n'));
  const [published, list, deletion] = output.trim().split('\n');
  expect(JSON.parse(published ?? '').data.publishMessage).toEqual({
    outcome: 'ACKNOWLEDGED',
    reasonCode: 0,
    protocolVersion: '5',
    payloadBytes: 14,
    remarks: [],
  });
  expect(JSON.parse(list ?? '').data.broker.retainedMessages).toMatchObject({
    totalCount: 1,
    completeness: 'COMPLETE',
    nodes: [{ topic: 'demo/settings', payload: '{"interval":5}', qos: 1, contentType: 'application/json' }],
  });
  expect(JSON.parse(deletion ?? '').data.deleteRetainedMessages.deletion).toMatchObject({
    state: 'DONE',
    wouldDeleteCount: 1,
    results: [{ topic: 'demo/settings', status: 'WOULD_DELETE', error: null }],
  });
});

ofDocuments('refusals are listed and followed as printed', async () => {
  const { url, run } = await startExamples();
  const unknown = startClient(url ?? '', { clientId: 'dev-17', username: 'nobody', password: 'secret' });
  await expect(unknown).rejects.toThrow('Not authorized');
  const blocks = shellBlocks('The list');
  expect(blocks).toHaveLength(2);
  const [read = '', follow = ''] = blocks;
  expect(JSON.parse(await run(read)).data.broker.refusals).toMatchObject({
    totalCount: 1,
    nodes: [{ kind: 'CONNECT', reason: 'UNKNOWN_ACCOUNT', clientId: 'dev-17', username: 'nobody', count: 1 }],
  });
  const live = await run(follow, (output) => output.includes('"kind":"SNAPSHOT"'));
  expect(live).toContain('"reason":"UNKNOWN_ACCOUNT","clientId":"dev-17","username":"nobody","count":1');
});

ofDocuments('a stream is previewed, created, fed, replayed, watched and deleted as printed', async () => {
  const { service, id, run } = await startExamples();
  const blocks = shellBlocks('Streams');
  const [create = '', publish = '', replay = '', follow = '', remove = ''] = blocks;
  expect(blocks).toHaveLength(5);
  const [, preview = ''] =
    /^# Streams$[\s\S]*?```graphql\n([\s\S]*?)```/m.exec(texts.get('docs/streams.md') ?? '') ?? [];
  expect((await service.graphql(preview)).data.previewStream.results).toMatchObject([
    { outcome: 'PASS', output: { speed: 12.5, from: { line: 'A' } } },
    { outcome: 'FILTERED' },
    { outcome: 'FILTERED' },
    { outcome: 'FAILED' },
  ]);
  const made = await run(create + publish);
  expect(made).toContain('{"data":{"createStream":{"stream":{"id":"str_');
  expect(made).toMatch(/\n\{"speed":12.5\}\n$/);
  const [put, put2, ...lines] = (await run(replay)).trim().split('\n');
  expect([put, put2]).toEqual(['204', '204']);
  expect(lines.slice(0, 3)).toEqual(['{"speed":20}', '{"speed":30}', '{"speed":40}']);
  expect(JSON.parse(lines[3]?.replace(/200$/, '') ?? '')).toMatchObject([
    { streamname: 'fast', persist: true, ttl: 86_400 },
  ]);
  const live = await run(follow, (output) => output.includes('"state":"DONE"'));
  expect(live).toContain('"published":3,"total":3');
  expect(await run(remove)).toBe('204\n204\n');
  expect((await service.rest('GET', `/api/projects/${service.projectId}/brokers/${id}/streams`)).body).toEqual([]);
});

ofDocuments('the steps of watching topics work as printed', async () => {
  const { run } = await startExamples();
  const blocks = shellBlocks('Topics');
  expect(blocks).toHaveLength(4);
  const [begin = '', read = '', follow = '', change = ''] = blocks;
  const linesOf = async (script: string) => (await run(script)).trim().split('\n');
  const [put, state = ''] = await linesOf(begin);
  expect(put).toBe('204');
  expect(JSON.parse(state).data.broker.topicTree).toMatchObject({ state: 'RECORDING', reason: null });
  const [tree = '', rest = ''] = await linesOf(read);
  expect(JSON.parse(tree).data.broker.topicTree).toMatchObject({
    count: 3,
    topics: {
      totalCount: 2,
      nodes: [
        { topic: 'plant/line1/speed', payload: '12.5', messages: 1, retain: false },
        { topic: 'plant/line1/state', payload: 'running', retain: true },
      ],
    },
    speeds: { names: ['plant/line1/speed', 'plant/line2/speed'] },
    children: {
      nodes: [{ name: 'plant', topicCount: 3, children: { nodes: [{ name: 'line1' }, { name: 'line2' }] } }],
    },
  });
  expect(JSON.parse(rest.replace(/200$/, ''))).toEqual({
    publishTopics: { count: 3, topics: ['plant/line1/speed', 'plant/line1/state'] },
    subscribeTopics: { count: 0, topics: [] },
    truncated: false,
  });
  const live = await run(follow, (output) => output.includes('"SNAPSHOT"'));
  expect(live).toContain('"count":3');
  const [changed = ''] = await linesOf(change);
  expect(JSON.parse(changed).data.updateTopicTree.broker.topicTree.settings).toMatchObject({
    ttl: 3_600,
    filters: ['plant/#'],
    excludedFilters: ['plant/noise/#'],
    payloadLimit: 200,
  });
});

describe('bridges', () => {
  const postgres = usePostgres();

  ofDocuments('are configured, watched, fed and disabled as printed', async () => {
    const { service, id, run, connect } = await startExamples();
    const remote = await startMosquitto();
    const received: string[] = [];
    let heard = () => {};
    const receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => received.push(`${request.headers['webhook-signature']} ${chunk}`));
      request.on('end', () => {
        response.end();
        heard();
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void receiver.close());
    await once(receiver, 'listening');
    const database = await postgres.createDatabase();
    const blocks = shellBlocks('Bridges').map((block) =>
      block
        .replaceAll('127.0.0.1:1884', `127.0.0.1:${remote.port}`)
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${(receiver.address() as AddressInfo).port}`)
        .replaceAll('postgresql://me:secret@127.0.0.1:5432/plant', database),
    );
    expect(blocks).toHaveLength(6);
    const [list = '', mqtt = '', follow = '', postgresql = '', webhook = '', end = ''] = blocks;
    const [bridges = '', schema = ''] = (await run(list)).split('\n');
    expect(JSON.parse(bridges.replace(/200$/, ''))).toContainEqual({ id: 'mqtt-bridge', isActive: false });
    expect(JSON.parse(schema).data.broker.bridge).toMatchObject({ provider: 'GATEWAY', schema: { type: 'object' } });
    const made = JSON.parse(await run(mqtt)).data.updateBridgeConfig.bridge;
    expect(made).toMatchObject({ isActive: true, config: { connections: [{ password: '***' }] } });
    expect(await run(follow, (output) => output.includes('"CONNECTED"'))).toContain('"name":"headquarters"');
    expect(await run(postgresql + webhook)).toBe('204\n204\n');

    const client = await connect();
    const other = await startClient(remote.url);
    await other.subscribeAsync('berlin/#', { qos: 1 });
    const arrived = new Promise<string>((resolve) => other.once('message', resolve));
    const posted = new Promise<void>((resolve) => {
      heard = resolve;
    });
    for (const bridge of ['postgresql', 'webhook']) {
      const feed = subscribe(
        service,
        service.root,
        `subscription ($id: ID!) { bridgeStatus(brokerId: $id, bridgeId: "${bridge}-bridge") { connections { isConnected } } }`,
        { id },
      );
      await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0]?.isConnected);
    }
    await client.publishAsync('plant/line1/speed', '{"speed":12.5}', { qos: 1 });
    await client.publishAsync('plant/line1/alarm', 'too fast', { qos: 1 });
    expect(await arrived).toBe('berlin/plant/line1/speed');
    await posted;
    expect(received.join()).toMatch(/^v1,\S+ .*"payload":"too fast"/);
    const rows = async () => (await run(`psql -qAt '${database}' -c 'SELECT line, speed FROM speeds'`)).trim();
    await expect.poll(rows).toBe('line1|12.5');

    const [config = '', status = '', ...ended] = (await run(end)).trim().split('\n');
    expect(JSON.parse(config.replace(/200$/, '')).connections[0]).toMatchObject({ name: 'archive' });
    expect(JSON.parse(status.replace(/200$/, ''))[0]).toMatchObject({ connectionName: 'alarms', isConnected: true });
    expect(ended).toEqual(['204', '204', '204']);
    expect(config + status).not.toContain('whsec_');
  });
});

ofDocuments('a cluster is created, listed and watched as printed', async () => {
  const { run } = await startExamples();
  const output = await run(shellBlocks('Clusters').join('\n'), (text) => text.includes('SNAPSHOT'));
  const node = (nodeId: number) =>
    `{"nodeId":${nodeId},"isReachable":true,"isLeader":${nodeId === 1},"sync":{"state":"EQUAL"}}`;
  expect(output).toContain(`"state":"ACTIVE","nodes":[${node(1)},${node(2)}]`);
  expect(output).toContain('"clustername":"plant","status":200,"success":true,');
  expect(output).toContain(']207\n');
  expect(output).toContain('"sync":{"state":"EQUAL","differences":[],"missingPasswords":[]},"error":null}');
  expect(output).toContain('"clusterStatus":{"kind":"SNAPSHOT","clusters":[{"state":"ACTIVE","nodes":[');
});

ofDocuments('certificates are created, stored, deployed and used for connections as printed', async () => {
  const { service, id, run } = await startExamples({ MQTT_TLS_PORT: '0' });
  const listeners = `/api/projects/${service.projectId}/brokers/${id}/listeners`;
  const [secure] = (await service.rest('GET', listeners)).body.filter(({ tls }: { tls: boolean }) => tls);
  const output = await run(shellBlocks('Certificates').join('\n').replaceAll('8883', String(secure.port)));
  const done = JSON.stringify([{ brokerId: id, succeed: [{ port: secure.port }], failed: [] }]);
  expect(output.split('\n').filter(Boolean)).toEqual([`${done}200`, 'connected', `${done}200`, 'connected']);
  expect((await service.rest('GET', listeners)).body).toContainEqual(
    expect.objectContaining({
      port: secure.port,
      certs: [expect.objectContaining({ filename: 'broker.pem' }), expect.objectContaining({ filename: 'plant.pem' })],
    }),
  );
});
