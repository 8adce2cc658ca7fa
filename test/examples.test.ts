import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { addBroker } from './domains/clients/graph/commercial-broker.ts';
import { administratorOf, createBroker, startRunning, urlOf } from './engines/mosquitto/cloud-mosquitto.ts';
import { ADMIN, startClient, startMosquitto } from './support/mosquitto.ts';
import { startRelay } from './support/relay.ts';
import { startTestService, type TestService } from './support/service.ts';

// The example programs for frontend teams, as users run them.

const folder = fileURLToPath(new URL('../examples', import.meta.url));

beforeAll(() => {
  execFileSync(process.execPath, [join(folder, '../scripts/install-examples.mjs')], { stdio: 'inherit' });
}, 300_000);

// biome-ignore lint/suspicious/noExplicitAny: the lines of the programs differ.
type Line = any;

/** Runs an example until the test ends. `until` waits for a line; `warnings` are all texts that are not its JSON. */
function run(service: TestService, name: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [`${name}/index.mjs`], {
    cwd: folder,
    env: { ...process.env, BROKERGRAPH_URL: service.url, TOKEN: service.root, PROJECT_ID: service.projectId, ...env },
  });
  onTestFinished(() => void child.kill());
  const lines: Line[] = [];
  const warnings: string[] = [];
  const waiting = new Set<() => void>();
  const add = (text: string) => {
    if (text.startsWith('{')) lines.push(JSON.parse(text));
    else warnings.push(text);
    for (const look of [...waiting]) look();
  };
  createInterface(child.stdout).on('line', add);
  createInterface(child.stderr).on('line', add);
  const until = (matches: (line: Line) => boolean): Promise<Line> =>
    new Promise((resolve) => {
      const look = () => {
        const found = lines.find(matches);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { until, lines, warnings };
}

const BROKERS = 'query ($p: ID!) { project(id: $p) { brokers { nodes { id } } } }';
const BRIDGE = `mutation ($input: UpdateBridgeConfigInput!) {
  updateBridgeConfig(input: $input) { bridge { id isActive } }
}`;

/** Two brokers; only the second one has a bridge that is configured. */
async function startTwoBrokers() {
  const service = await startRunning();
  const { data } = await service.graphql(BROKERS, { p: service.projectId });
  const first: string = data.project.brokers.nodes[0].id;
  const { id: second } = await createBroker(service, { engine: 'EMBEDDED' });
  const topics = [{ pattern: 'plant/#', direction: 'out', qos: 1 }];
  const config = { connections: [{ name: 'headquarters', url: 'mqtt://127.0.0.1:1', topics }] };
  const input = { brokerId: second, bridgeKey: 'mqtt-bridge', config };
  expect((await service.graphql(BRIDGE, { input })).errors).toBeUndefined();
  return { service, first, second };
}

test.each(['apollo', 'urql'])('the cache of %s keeps two brokers apart and follows a client', async (name) => {
  const { service, first, second } = await startTwoBrokers();
  const device = await startClient(await urlOf(service, first), {
    ...administratorOf(service, first),
    clientId: 'device-1',
    clean: false,
    protocolVersion: 4,
  });

  const { until, warnings } = run(service, name);
  const bridgeOf = ({ brokers }: Line, id: string) =>
    brokers
      ?.find((broker: Line) => broker.id === id)
      ?.bridges?.find(({ key }: { readonly key: string }) => key === 'mqtt-bridge');
  const deviceOf = ({ brokers }: Line) =>
    brokers
      ?.find((broker: Line) => broker.id === first)
      ?.connectedClients?.nodes.find(({ clientId }: { readonly clientId: string }) => clientId === 'device-1');

  const page = await until((line) => deviceOf(line)?.isConnected === true);
  expect(bridgeOf(page, first)).toMatchObject({ isActive: false });
  expect(bridgeOf(page, second)).toMatchObject({ isActive: true });
  expect(bridgeOf(page, first).id).not.toBe(bridgeOf(page, second).id);

  await until(({ event }) => event === 'SNAPSHOT');
  await device.endAsync();
  const later = await until((line) => deviceOf(line)?.isConnected === false);
  expect(deviceOf(later).id).toBe(deviceOf(page).id);
  expect(bridgeOf(later, first)).toMatchObject({ isActive: false });
  expect(warnings).toEqual([]);
});

test.each(['apollo', 'urql'])('the cache of %s follows an account that mosquitto_ctrl changes', async (name) => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const control = (...command: string[]) =>
    promisify(execFile)('mosquitto_ctrl', [
      ...['-h', '127.0.0.1', '-p', String(mosquitto.port), '-u', ADMIN.username, '-P', ADMIN.password, 'dynsec'],
      ...command,
    ]);
  await control('createClient', 'device', '-p', 'secret');
  const service = await startTestService();
  await addBroker(service, mosquitto.url, ADMIN);

  const { until, warnings } = run(service, name);
  const deviceOf = ({ brokers }: Line) =>
    brokers?.[0]?.accounts?.nodes.find(({ username }: { readonly username: string }) => username === 'device');
  const page = await until((line) => deviceOf(line)?.enabled === true);
  await until(({ accountEvent }) => accountEvent === 'SNAPSHOT');
  await control('disableClient', 'device');
  const later = await until((line) => deviceOf(line)?.enabled === false);
  expect(deviceOf(later).id).toBe(deviceOf(page).id);
  expect(warnings).toEqual([]);
});

test('a graphql-ws client resumes after its socket is lost, and stops when its token is revoked', async () => {
  const { service, first } = await startTwoBrokers();
  const { token, id } = await service.person('VIEWER');
  const relay = await startRelay(Number(new URL(service.url).port));
  const env = { TOKEN: token, BROKER_ID: first, BROKERGRAPH_URL: relay.url.replace('mqtt', 'http') };
  const { until, warnings } = run(service, 'graphql-ws', env);
  await until(({ event }) => event === 'SNAPSHOT');

  relay.cut();
  expect(await until(({ event }) => event === 'RESUMED')).toMatchObject({ sequence: expect.any(Number) });

  await service.graphql('mutation ($id: ID!) { endUserSessions(input: { userId: $id }) { count } }', { id });
  await until(({ closed, error }) => closed === 4403 || error === 'UNAUTHORIZED');
  expect(warnings).toEqual([]);
});

test('graphql-codegen writes types that compile with the code that uses them', () => {
  const binary = (name: string) => join(folder, 'node_modules/.bin', name);
  execFileSync(binary('graphql-codegen'), ['--config', 'codegen/codegen.mjs'], { cwd: folder, stdio: 'pipe' });
  expect(existsSync(join(folder, 'codegen/generated/graphql.ts'))).toBe(true);
  execFileSync(binary('tsc'), ['-p', 'codegen/tsconfig.json'], { cwd: folder, stdio: 'pipe' });
});
