import { readFileSync } from 'node:fs';
import type { IClientOptions, MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { ADMIN, type Mosquitto, startClient, startMosquitto } from '../../support/mosquitto.ts';
import { type GraphqlAnswer, type RestAnswer, startTestService, type TestService } from '../../support/service.ts';
import { subscribe, type TestSubscription } from '../../support/subscription.ts';
import { brokerKinds } from '../../support/suite.ts';

type Variables = Record<string, unknown>;

/** A whole service with one broker, asked as the root administrator. */
export interface StreamWorld {
  readonly service: TestService;
  readonly brokerId: string;
  /** Of the broker, for those who are no service. */
  readonly url: string;
  /** An operation on the graph with `$b` being the broker; errors are thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  graph(document: string, variables?: Variables): Promise<any>;
  refused(document: string, variables?: Variables): Promise<NonNullable<GraphqlAnswer['errors']>[number]>;
  /** Runs the mutation `name` with its input in addition to the broker, and returns the payload. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  change(name: string, input: Variables, selection?: string): Promise<any>;
  /** How it is refused. */
  unchanged(name: string, input: Variables): Promise<NonNullable<GraphqlAnswer['errors']>[number]>;
  /** `path` below the broker. */
  rest(method: string, path: string, body?: unknown): Promise<RestAnswer>;
  /** A subscription with `$b` being the broker. */
  follow(document: string, variables?: Variables): TestSubscription;
  client(options?: IClientOptions): Promise<MqttClient>;
}

export const KINDS = brokerKinds(['the embedded broker', 'Mosquitto']);

export async function streamWorld(kind: (typeof KINDS)[number]): Promise<StreamWorld> {
  if (kind === 'Mosquitto') return mosquittoWorld(await startMosquitto({ access: 'passwords' }));
  const service = await startTestService({ embeddedBroker: true });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8').trim();
  return worldOf(service, id, url ?? '', { username: 'admin', password });
}

export async function mosquittoWorld({ url }: Mosquitto, env: Record<string, string> = {}): Promise<StreamWorld> {
  const service = await startTestService({ env });
  return worldOf(service, await addBroker(service, url), url, ADMIN);
}

export async function addBroker(service: TestService, url: string): Promise<string> {
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { name: 'plant', url, ...ADMIN });
  return body.id;
}

/** Several mutations may have the same input. */
export const inputOf = (mutation: string) => String(schema.getMutationType()?.getFields()[mutation]?.args[0]?.type);

export function worldOf(service: TestService, brokerId: string, url: string, credentials: IClientOptions): StreamWorld {
  const asked = (document: string, variables: Variables = {}) =>
    service.graphql(document, { b: brokerId, ...variables });
  const graph: StreamWorld['graph'] = async (document, variables) => {
    const { data, errors } = await asked(document, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const refused: StreamWorld['refused'] = async (document, variables) => {
    const { data, errors } = await asked(document, variables);
    if (!errors?.[0]) throw new Error(`Not refused: ${JSON.stringify(data)}`);
    return errors[0];
  };
  const mutation = (name: string, selection: string) =>
    `mutation ($input: ${inputOf(name)}) { ${name}(input: $input) { ${selection} } }`;
  const input = (fields: Variables) => ({ input: { brokerId, ...fields } });
  return {
    service,
    brokerId,
    url,
    graph,
    refused,
    change: async (name, fields, selection = 'broker { id }') =>
      (await graph(mutation(name, selection), input(fields)))[name],
    unchanged: (name, fields) => refused(mutation(name, 'broker { id }'), input(fields)),
    rest: (method, path, body) =>
      service.rest(method, `/api/projects/${service.projectId}/brokers/${brokerId}${path}`, service.root, body),
    follow: (document, variables) => subscribe(service, service.root, document, { b: brokerId, ...variables }),
    client: (options) => startClient(url, { ...credentials, ...options }),
  };
}

/** Messages as they come to a client; `until` resolves when so many have. */
export async function heardOn(client: MqttClient, filter: string) {
  const heard: { readonly topic: string; readonly text: string; readonly qos: number; readonly retain: boolean }[] = [];
  let check = () => {};
  client.on('message', (topic, payload, { qos, retain }) => {
    heard.push({ topic, text: payload.toString(), qos, retain });
    check();
  });
  await client.subscribeAsync(filter, { qos: 2 });
  onTestFinished(() => {
    check = () => {};
  });
  const until = (count: number) =>
    new Promise<typeof heard>((resolve) => {
      check = () => {
        if (heard.length >= count) resolve(heard);
      };
      check();
    });
  return { heard, until };
}
