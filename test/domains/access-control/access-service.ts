import { readFileSync } from 'node:fs';
import type { IClientOptions, MqttClient } from 'mqtt';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { ADMIN, FOLLOWED_LOG, startClient, startMosquitto } from '../../support/mosquitto.ts';
import { type GraphqlAnswer, type RestAnswer, startTestService, type TestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { brokerKinds } from '../../support/suite.ts';

/** A whole service with one broker, and a second way to that broker which knows nothing of the service. */
export interface AccessWorld {
  readonly service: TestService;
  readonly brokerId: string;
  readonly url: string;
  /** Of the broker's administrator. */
  readonly credentials: { readonly username: string; readonly password: string };
  /** An operation on the graph with `$b` being the broker; errors are thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  graph(document: string, variables?: Record<string, unknown>): Promise<any>;
  refused(document: string, variables?: Record<string, unknown>): Promise<NonNullable<GraphqlAnswer['errors']>[number]>;
  /** `path` below the broker. */
  rest(method: string, path: string, body?: unknown): Promise<RestAnswer>;
  /** Asks the broker itself; answers the response's data, or its error text. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  ask(command: string, fields?: Record<string, unknown>): Promise<any>;
  /** A client that connects with these credentials; answers when the service has seen it. */
  client(options: IClientOptions & { readonly clientId: string }): Promise<MqttClient>;
  /** Commands of others that the broker has answered since the last call. */
  answered(): string[];
}

export const KINDS = brokerKinds(['the embedded broker', 'Mosquitto 2.0']);

export async function accessWorld(kind: (typeof KINDS)[number]): Promise<AccessWorld> {
  if (kind === 'the embedded broker') {
    const service = await startTestService({ embeddedBroker: true });
    const { id, url } = await service.storage.db.broker.findFirstOrThrow();
    const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8').trim();
    return worldOf(service, id, url ?? '', { username: 'admin', password });
  }
  const broker = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const brokerId = await addBroker(service, broker.url);
  return worldOf(service, brokerId, broker.url, ADMIN);
}

export async function addBroker(service: TestService, url: string): Promise<string> {
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { name: 'm', url, ...ADMIN });
  return body.id;
}

const WATCH =
  'subscription ($b: ID!) { connectedClients(brokerId: $b) { clients { clientId connected: isConnected } } }';
const TOPIC = '$CONTROL/dynamic-security/v1';

async function worldOf(
  service: TestService,
  brokerId: string,
  url: string,
  credentials: { readonly username: string; readonly password: string },
): Promise<AccessWorld> {
  const graphql = (document: string, variables: Record<string, unknown> = {}) =>
    service.graphql(document, { b: brokerId, ...variables });
  // Before the client connects: the broker's log has only clients that connect after this service.
  await graphql(
    'query ($b: ID!) { broker(id: $b) { accessControl { accountCount } connectedClients { totalCount } } }',
  );
  const admin = await startClient(url, { ...credentials, clientId: `admin-${brokerId}` });
  const waiting = new Map<string, (response: { data?: unknown; error?: string }) => void>();
  let answered: string[] = [];
  let asked = 0;
  admin.on('message', (_topic, payload) => {
    const { responses } = JSON.parse(payload.toString());
    const [{ correlationData }] = responses;
    const settle = waiting.get(correlationData);
    if (settle) settle(responses[0]);
    else answered.push(...responses.map(({ command }: { command: string }) => command));
  });
  await admin.subscribeAsync(`${TOPIC}/response`);
  return {
    service,
    brokerId,
    url,
    credentials,
    graph: async (document, variables) => {
      const { data, errors } = await graphql(document, variables);
      if (errors) throw new Error(JSON.stringify(errors));
      return data;
    },
    refused: async (document, variables) => {
      const { errors, data } = await graphql(document, variables);
      const [error] = errors ?? [];
      if (!error) throw new Error(`not refused: ${JSON.stringify(data)}`);
      return error;
    },
    rest: (method, path, body) =>
      service.rest(method, `/api/projects/${service.projectId}/brokers/${brokerId}${path}`, service.root, body),
    ask: async (command, fields = {}) => {
      asked += 1;
      const correlationData = `second-way-${asked}`;
      const answer = new Promise<{ data?: unknown; error?: string }>((resolve) =>
        waiting.set(correlationData, resolve),
      );
      await admin.publishAsync(TOPIC, JSON.stringify({ commands: [{ command, ...fields, correlationData }] }));
      const { data, error } = await answer;
      waiting.delete(correlationData);
      return error ?? data;
    },
    client: async (options) => {
      const events = subscribe(service, service.root, WATCH, { b: brokerId });
      const client = await startClient(url, options);
      await events.until(({ connectedClients }) =>
        connectedClients.clients.some(
          ({ clientId, connected }: { clientId: string; connected: boolean }) =>
            clientId === options.clientId && connected,
        ),
      );
      events.end();
      return client;
    },
    answered: () => {
      const commands = answered;
      answered = [];
      return commands;
    },
  };
}
