import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { newDatabaseUrl, temporaryFolder } from '../support/database.ts';
import { describeEngines } from '../support/engines.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { PROCESS_ENV } from '../support/process-env.ts';
import { bearer, ROOT } from '../support/service.ts';
import { mainProgram, readyUrl } from '../support/service-process.ts';

const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const BROKER = 'query ($id: ID!) { broker(id: $id) { isConnected } }';
const STREAM = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { state } } }';
const STREAMS = 'query ($id: ID!) { broker(id: $id) { streams(first: 1) { nodes { state messageCount } } } }';
const PROJECT = 'mutation { createProject(input: { name: "P" }) { project { id } } }';
const CALLERS = 8;

/** Starts a service that runs a broker, and a stream of another one that stores messages: in two threads. */
async function startWithStream(databaseUrl: string | undefined) {
  const dataDir = temporaryFolder();
  const child = spawn(process.execPath, [mainProgram, 'serve'], {
    env: {
      ...PROCESS_ENV,
      ...{ PORT: '0', MQTT_PORT: '0', MQTT_WS_PORT: '0', MQTT_TLS_PORT: '0', DATA_DIR: dataDir },
      ...{ ROOT_EMAIL: ROOT.email, ROOT_PASSWORD: ROOT.password },
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (output.out += chunk));
  child.stderr.on('data', (chunk) => (output.err += chunk));
  const url = await readyUrl(child);
  let token: string | null = null;
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
  const graphql = async (query: string, variables: object = {}): Promise<any> => {
    const headers = { 'content-type': 'application/json', ...bearer(token) };
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables }),
    });
    return ((await response.json()) as { readonly data: unknown }).data;
  };
  token = (await graphql(LOGIN, { input: ROOT })).login.token;
  const { createProject } = await graphql(PROJECT);
  const mosquitto = await startMosquitto();
  const added = { projectId: createProject.project.id, name: 'line', url: mosquitto.url };
  const { id } = (await graphql(ADD, { input: added })).addBroker.broker;
  await expect.poll(() => graphql(BROKER, { id })).toEqual({ broker: { isConnected: true } });
  const input = { brokerId: id, name: 's', sourceTopic: 'in/#', targetTopic: 'out', persist: true };
  await graphql(STREAM, { input });
  const device = await mosquitto.client();
  await expect
    .poll(async () => {
      await device.publishAsync('in/a', '{"v":1}', { qos: 1 });
      const { state, messageCount } = (await graphql(STREAMS, { id })).broker.streams.nodes[0];
      return [state, messageCount > 0];
    })
    .toEqual(['RUNNING', true]);
  return { child, closed, output, graphql, device };
}

/** Requests and messages without end, until the service refuses them. */
function load(graphql: (query: string) => Promise<unknown>, device: MqttClient): void {
  const call = async (): Promise<void> => {
    for (;;) await graphql(PROJECT);
  };
  const publish = async (): Promise<void> => {
    for (;;) await device.publishAsync('in/a', '{"v":1}', { qos: 1 });
  };
  for (let n = 0; n < CALLERS; n += 1) {
    call().catch(() => undefined);
    publish().catch(() => undefined);
  }
}

describeEngines((engine, postgres) => {
  test.for([
    ['SIGINT', 'under load'],
    ['SIGTERM', 'under load'],
    ['SIGHUP', 'while idle'],
    ['SIGQUIT', 'while idle'],
  ] as const)('%s %s stops a service with a running stream in order: nothing is terminated', async ([signal, when]) => {
    const databaseUrl = await newDatabaseUrl(engine, postgres);
    const { child, closed, output, graphql, device } = await startWithStream(databaseUrl);
    if (when === 'under load') load(graphql, device);
    child.kill(signal);
    const [code] = await closed;
    const lines: { readonly msg: string; readonly time: number }[] = output.err
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const stopping = lines.slice(lines.findIndex(({ msg }) => msg === 'stopping'));
    // Warnings of what is terminated after a time-out, and the error of a service that is late. Others are of the load.
    expect(stopping.filter(({ msg }) => /in time|terminated|did not stop/.test(msg))).toEqual([]);
    expect([code, stopping.at(-1)?.msg]).toEqual([0, 'stopped']);
  });
});
