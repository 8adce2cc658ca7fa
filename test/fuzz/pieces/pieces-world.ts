import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/database.ts';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';
import { onTestFinished } from '../../support/shared.ts';
import { HealthyClient } from '../mqtt/healthy-client.ts';
import { Responder } from './responder.ts';

/** Time for what a hostile peer waits for. The service may have closed or ignored the connection. */
const PATIENCE_MS = 5_000;

/** A service in its own process, with an embedded broker, and the servers that it sends requests to. */
export interface PiecesWorld {
  readonly service: ServiceProcess;
  readonly brokerId: string;
  readonly mqttPort: number;
  readonly wsPort: number;
  readonly account: { readonly username: string; readonly password: string };
  readonly viewer: string;
  readonly webhook: Responder;
  readonly postgresql: Responder;
  readonly ldap: Responder;
  readonly oidc: Responder;
  /** Why the service or a healthy client has failed. */
  readonly faults: readonly string[];
  /** Resolves when the service and its broker have served a healthy client; then returns all stalls so far. */
  settled(): Promise<readonly number[]>;
}

const WATCH = new URL('./service-watch.mjs', import.meta.url).href;
const CREATE_TOKEN = 'mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret } }';

export async function startPiecesWorld(): Promise<PiecesWorld> {
  const [webhook, ldap, oidc] = [await Responder.start(), await Responder.start(), await Responder.start()];
  const postgresql = await Responder.start();
  const stallsFile = join(temporaryFolder(), 'stalls');
  writeFileSync(stallsFile, '');
  const service = await startServiceProcess({
    EMBEDDED_BROKER: 'on',
    MQTT_PORT: '0',
    MQTT_WS_PORT: '0',
    MQTT_TLS_PORT: 'off',
    BROKER_ALLOWED_HOSTS: '127.0.0.1',
    LDAP_URL: `ldap://127.0.0.1:${ldap.port}`,
    LDAP_START_TLS: 'off',
    LDAP_USER_BASE: 'dc=example',
    OIDC_ISSUER: `http://127.0.0.1:${oidc.port}`,
    OIDC_CLIENT_ID: 'brokergraph',
    OIDC_CLIENT_SECRET: 'a secret',
    RATE_REQUESTS: '100000',
    NODE_OPTIONS: `--import=${WATCH}`,
    STALLS_FILE: stallsFile,
  });
  const found = await firstBroker(service);
  const { createToken } = await service.graphql(CREATE_TOKEN, {
    i: { projectId: found.projectId, name: 'viewer', role: 'VIEWER' },
  });
  await service.graphql('mutation ($input: CreateStreamInput!) { createStream(input: $input) { __typename } }', {
    input: { ...STREAM, brokerId: found.brokerId },
  });
  // The thread of the bridges starts, and loads its modules, before anything is measured.
  const served = webhook.respond(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'));
  await configureWebhook({ service, webhook, brokerId: found.brokerId }, 0, 'healthy');
  const folder = join(service.dataDir, 'brokers', found.brokerId);
  const account = { username: 'admin', password: readFileSync(join(folder, 'password'), 'utf8').trim() };
  const faults: string[] = [];
  const healthy = await HealthyClient.start({ port: found.mqttPort, account, onLost: (text) => faults.push(text) });
  await healthy.settle();
  await served;
  // The first request of each kind prepares pages and compiles documents.
  for (const path of HTTP_PATHS)
    for (const method of ['GET', 'HEAD', 'POST']) await fetch(`${service.url}${path}`, { method, redirect: 'manual' });
  let isClosed = false;
  void service.exit().then(() => {
    if (!isClosed) faults.push('the service exited');
  });
  onTestFinished(async () => {
    isClosed = true;
    await healthy.close();
    for (const responder of [webhook, postgresql, ldap, oidc]) responder.close();
  });
  return {
    ...found,
    service,
    account,
    viewer: createToken.secret,
    webhook,
    postgresql,
    ldap,
    oidc,
    faults,
    settled: async () => {
      await healthy.settle();
      // A healthy caller of HTTP. A fault of the service is in `faults`.
      for (let turn = 0; turn < 3; turn += 1)
        await fetch(`${service.url}/healthz`)
          .then((response) => response.text())
          .catch(() => {});
      if (existsSync(join(folder, 'failure.json'))) faults.push(readFileSync(join(folder, 'failure.json'), 'utf8'));
      return readFileSync(stallsFile, 'utf8').split('\n').filter(Boolean).map(Number);
    },
  };
}

export const HTTP_PATHS = ['/graphql', '/api/projects', '/auth/session', '/healthz', '/metrics', '/'] as const;

const STREAM = {
  name: 'pieces',
  sourceTopic: 'pieces/stream',
  targetTopic: 'pieces/result',
  query: { select: [{ source: '[a]', target: '[b]' }], where: [] },
};

/** Sends messages of a topic to the webhook, at a path of its own, so that earlier failures do not delay it. */
export async function configureWebhook(
  { service, webhook, brokerId }: Pick<PiecesWorld, 'service' | 'webhook' | 'brokerId'>,
  path: number,
  topic: string,
): Promise<void> {
  const secret = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;
  const url = `http://127.0.0.1:${webhook.port}/${path}`;
  const config = { connections: [{ name: 'pieces', url, secret, topics: [topic] }] };
  await configure(service, brokerId, 'webhook-bridge', config);
}

/** Connects a bridge to the server, as a user of its own, so that earlier failures do not delay it. */
export async function configurePostgresql(
  { service, postgresql, brokerId }: Pick<PiecesWorld, 'service' | 'postgresql' | 'brokerId'>,
  user: number,
): Promise<void> {
  const url = `postgresql://u${user}:p@127.0.0.1:${postgresql.port}/d?sslmode=disable`;
  const mapping = { name: 'm', topics: ['pieces/rows'], table: 't', columns: [{ column: 'c', source: 'payload' }] };
  const config = { connections: [{ name: 'pieces', url, mappings: [mapping] }] };
  await configure(service, brokerId, 'postgresql-bridge', config);
}

async function configure(service: ServiceProcess, brokerId: string, bridgeKey: string, config: object): Promise<void> {
  await service.graphql(
    'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { __typename } }',
    { input: { brokerId, bridgeKey, config } },
  );
}

async function firstBroker({ graphql, dataDir }: ServiceProcess) {
  const [brokerId = ''] = readdirSync(join(dataDir, 'brokers')).filter((name) => name.startsWith('brk_'));
  const { broker } = await graphql(
    'query ($id: ID!) { broker(id: $id) { projectId ... on CloudBroker { listeners { protocol port } } } }',
    { id: brokerId },
  );
  const portOf = (protocol: string): number =>
    broker.listeners.find((listener: { protocol: string }) => listener.protocol === protocol)?.port ?? 0;
  return { brokerId, projectId: broker.projectId as string, mqttPort: portOf('MQTT'), wsPort: portOf('WEBSOCKET') };
}

/** Resolves with the result, or after PATIENCE_MS. */
export function patiently(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    work
      .catch(() => {})
      .finally(() => {
        clearTimeout(timer);
        resolve();
      });
  });
}

/** Writes bytes to a port after `hello` was responded to. Resolves when all are taken, or the connection is closed. */
export function write(port: number, hello: Buffer | null, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.once('close', () => resolve());
    const send = () => {
      // A response, or the end of the connection, shows that the last byte was read.
      socket.end(bytes);
      socket.resume();
    };
    if (hello === null) socket.once('connect', send);
    else {
      socket.once('connect', () => socket.write(hello));
      socket.once('data', send);
    }
  });
}
