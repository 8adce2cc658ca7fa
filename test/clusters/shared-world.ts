import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished } from 'vitest';
import { passwordFile } from '../../src/cloud-brokers/cloud-brokers.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts';

/** A service that runs several brokers itself, of which clusters are made. */
export interface SharedWorld {
  readonly service: TestService;
  /** Of the brokers, in the order of their numbers as nodes. */
  readonly brokerIds: readonly string[];
  /** An operation on the graph; errors are thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  graph(document: string, variables?: Record<string, unknown>): Promise<any>;
  /** One more broker, which runs and is connected; its id. */
  broker(name: string, engine?: string): Promise<string>;
  nodeInput(nodeId: number, brokerId?: string): object;
  create(input: object): Promise<string>;
  urlOf(brokerId: string): Promise<string>;
  /** The account of the service at a broker. */
  administratorOf(brokerId: string): { readonly username: string; readonly password: string };
  /** Of the process that the broker runs in; null: it has none of its own. */
  pidOf(brokerId: string): number | null;
  /** A client that stays with one broker. */
  client(brokerId: string, options?: IClientOptions): Promise<MqttClient>;
}

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }';

export async function sharedWorld(count: number, options: TestServiceOptions = {}): Promise<SharedWorld> {
  const service = await startTestService({
    embeddedBroker: true,
    ...options,
    env: { BROKER_TIMEOUT_MS: '10000', ...options.env },
  });
  const { dataDir } = service.config;
  const { runtimes } = service.services;
  const { db } = service.storage;
  const brokerIds: string[] = [];
  const graph: SharedWorld['graph'] = async (document, variables = {}) => {
    const { data, errors } = await service.graphql(document, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const connected = (id: string) => expect.poll(() => runtimes.isConnected(id)).toBe(true);
  const urlOf = async (id: string) => (await db.broker.findUniqueOrThrow({ where: { id } })).url ?? '';
  const administratorOf = (id: string) => ({
    username: 'admin',
    password: readFileSync(passwordFile(dataDir, id), 'utf8').trim(),
  });
  const world: SharedWorld = {
    service,
    brokerIds,
    graph,
    broker: async (name, engine = 'EMBEDDED') => {
      const { createCloudBroker } = await graph(
        'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
        { input: { projectId: service.projectId, name, engine } },
      );
      const { id } = createCloudBroker.broker;
      await connected(id);
      return id;
    },
    nodeInput: (nodeId, brokerId = brokerIds[nodeId - 1] ?? '') => ({
      brokerId,
      nodeId,
      name: `node ${nodeId}`,
      address: '127.0.0.1',
      port: 7000 + nodeId,
    }),
    create: async (input) => {
      const wanted = { projectId: service.projectId, name: 'plant', mode: 'FULL', ...input };
      return (await graph(CREATE, { input: wanted })).createCluster.cluster.id;
    },
    urlOf,
    administratorOf,
    pidOf: (id) => {
      try {
        return Number(readFileSync(join(dataDir, 'brokers', id, 'broker.pid'), 'utf8'));
      } catch {
        return null;
      }
    },
    client: async (id, more = {}) => {
      const client = await mqtt.connectAsync(await urlOf(id), {
        ...administratorOf(id),
        protocolVersion: 5,
        reconnectPeriod: 0,
        ...more,
      });
      client.on('error', () => undefined);
      onTestFinished(() => client.endAsync(true).then(() => undefined));
      return client;
    },
  };
  // Those of an earlier start, and the one that a first start makes.
  const known = await db.broker.findMany({ where: { type: 'CLOUD' }, orderBy: { id: 'asc' }, take: count });
  brokerIds.push(...known.map(({ id }) => id));
  await Promise.all(brokerIds.map(connected));
  while (brokerIds.length < count) brokerIds.push(await world.broker(`Broker ${brokerIds.length + 1}`));
  return world;
}
