import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { ProblemFact } from '../../../src/domains/problems/model/problem-fact.ts';
import { errorStatements } from '../../../src/protocol/problems/problem-statements.ts';
import { freePort } from '../../support/free-port.ts';
import type { TestService } from '../../support/service.ts';
import { onTestFinished } from '../../support/shared.ts';

export const SECRET = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body depends on the channel.
  readonly body: any;
}

export interface Receiver {
  readonly url: string;
  readonly requests: Received[];
  /** Writes the responses. Default: 204. */
  respond: (response: ServerResponse, request: Received) => void;
  /** No port is open until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** An HTTP server that records requests, on a port of its own. */
export async function startReceiver(): Promise<Receiver> {
  const port = await freePort();
  const requests: Received[] = [];
  const open = async () => {
    const server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        const received = { headers: request.headers, text, body: JSON.parse(text) };
        requests.push(received);
        receiver.respond(response, received);
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await open();
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    requests,
    respond: (response) => void response.writeHead(204).end(),
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    start: async () => {
      server = await open();
    },
  };
  onTestFinished(() => receiver.stop());
  return receiver;
}

const fact = (name: string, more: Partial<ProblemFact> = {}): ProblemFact => ({
  kind: 'BRIDGE_DOWN',
  subjectId: null,
  subjectName: name,
  statements: errorStatements(`The bridge "${name}" is not connected`),
  ...more,
});

interface Change {
  readonly projectId?: string | null;
  readonly brokerId?: string | null;
  readonly at?: Date;
  readonly fact?: Partial<ProblemFact>;
}

/** Opens or closes problems about something named, as another process of the service does. */
async function change(service: TestService, what: 'OPEN' | 'CLOSE', names: string[], options: Change): Promise<void> {
  const { store } = service.services.problems;
  const scope = { projectId: service.projectId, brokerId: null, ...options };
  const transitions = names.map((name) => {
    const key = JSON.stringify(['test', scope.projectId, name]);
    return { change: what, key, scope, fact: fact(name, options.fact) } as never;
  });
  store.take(transitions, options.at ?? new Date());
  await store.flush();
}

export const openProblem = (service: TestService, name: string, options: Change = {}) =>
  change(service, 'OPEN', [name], options);
export const closeProblem = (service: TestService, name: string, options: Change = {}) =>
  change(service, 'CLOSE', [name], options);
export const openProblems = (service: TestService, names: string[]) => change(service, 'OPEN', names, {});

const CREATE = `mutation ($input: CreateNotificationChannelInput!) {
  createNotificationChannel(input: $input) { notificationChannel { id } } }`;

/** Creates a channel of the project of the service, and waits until changes are passed to it. */
export async function createChannel(service: TestService, input: object, token?: string): Promise<string> {
  const { projectId } = service;
  const { data, errors } = await service.graphql(CREATE, { input: { projectId, name: 'channel', ...input } }, token);
  if (errors) throw new Error(JSON.stringify(errors));
  await expect.poll(() => service.storage.db.notificationPosition.count()).toBe(1);
  return data.createNotificationChannel.notificationChannel.id;
}

const DELIVERIES = `query ($id: ID!, $state: NotificationDeliveryState) { node(id: $id) { ... on NotificationChannel {
  deliveries(state: $state) { totalCount nodes {
    id number state content attempts nextAttemptAt lastAttemptAt responseStatus response error endedAt } } } } }`;

/** The deliveries of a channel, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: as selected.
export async function deliveriesOf(service: TestService, id: string, state?: string): Promise<any[]> {
  const { data } = await service.graphql(DELIVERIES, { id, state });
  return data.node.deliveries.nodes;
}

/** `OPENED a`, in the order of their arrival. */
export const seenIn = (receiver: Receiver): string[] =>
  receiver.requests.map(({ body }) => `${body.data.change} ${body.data.subject.name}`);

/** Values of `/metrics` by their names without what these have in common. */
export async function metricsOf({ url }: TestService): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(/^brokergraph_notification_(\S+) (\S+)$/gm);
  return Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
}
