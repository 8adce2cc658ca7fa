import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { sharedDatabase, startTestService, type TestService, type TestServiceOptions } from '../../support/service.ts';

/** A service on a database that others use, too, with a data folder of its own. It waits long for slow starts. */
type StartOn = (options?: TestServiceOptions) => Promise<TestService>;

export async function databaseFor(postgres: TestPostgres): Promise<StartOn> {
  const shared = {
    DATABASE_URL: await sharedDatabase(postgres),
    SECRET_KEY: '5e'.repeat(32),
    BROKER_TIMEOUT_MS: '60000',
  };
  return ({ env = {}, ...options } = {}) => startTestService({ ...options, env: { ...shared, ...env } });
}

export const ENGINES = ['EMBEDDED', 'MOSQUITTO'] as const;

const CREATE = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';
const BROKER = `query ($id: ID!) { broker(id: $id) {
  url isConnected connection { state lastError }
  ... on CloudBroker { state targetState problem runsOn { host isAvailable awaySince } }
} }`;
const SET = 'mutation ($input: SetTargetStateInput!) { setTargetState(input: $input) { broker { updatedAt } } }';
const DELETE = 'mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }';

/** Returns the id, or the reason of the refusal. */
export async function create(service: TestService, input: object = {}): Promise<string> {
  const { projectId } = service;
  const { data, errors } = await service.graphql(CREATE, { input: { projectId, name: 'Plant', ...input } });
  return errors?.[0]?.message ?? data.createCloudBroker.broker.id;
}

export const brokerOf = async (service: TestService, id: string) =>
  (await service.graphql(BROKER, { id })).data?.broker ?? null;

export const isUp = {
  state: 'ACTIVE',
  problem: null,
  isConnected: true,
  runsOn: { host: hostname(), isAvailable: true },
};

/** Waits until each service is connected to the broker. */
export async function connected(id: string, ...services: readonly TestService[]): Promise<void> {
  for (const service of services) await expect.poll(() => brokerOf(service, id)).toMatchObject(isUp);
}

/** Returns when the change was stored, in milliseconds. */
export async function setTargetState(service: TestService, brokerId: string, targetState: string): Promise<number> {
  const { data } = await service.graphql(SET, { input: { brokerId, targetState } });
  return Date.parse(data.setTargetState.broker.updatedAt);
}

export async function remove(service: TestService, id: string): Promise<void> {
  expect((await service.graphql(DELETE, { id })).errors).toBeUndefined();
}

export const hasFolder = ({ config }: TestService, id: string): boolean =>
  existsSync(join(config.dataDir, 'brokers', id));

export const accountOf = ({ config }: TestService, id: string) => ({
  username: 'admin',
  password: readFileSync(passwordFile(config.dataDir, id), 'utf8'),
});
