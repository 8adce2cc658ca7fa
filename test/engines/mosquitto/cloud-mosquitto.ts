import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { subscribe, type TestSubscription } from '../../support/subscription.ts';

/** A service with a first broker on the embedded engine. It waits long, because a start of Mosquitto may be slow. */
export const startRunning = (env: Record<string, string> = {}, dataDir?: string): Promise<TestService> =>
  startTestService({
    embeddedBroker: true,
    env: { BROKER_TIMEOUT_MS: '60000', ...env },
    ...(dataDir === undefined ? {} : { dataDir }),
  });

const STATUS = `subscription ($id: ID!) { brokerStatus(projectId: $id) {
  kind brokers { brokerId isRemoved isConnected cloudState broker { url ... on CloudBroker { problem deployedAt shutdownAt } } }
} }`;

const CREATE = `mutation ($input: CreateCloudBrokerInput!) {
  createCloudBroker(input: $input) { broker { id ... on CloudBroker { engine state targetState } } }
}`;

interface FollowedStates {
  /** Resolves when changes are being followed. */
  begun(): Promise<void>;
  /** Reported states in order, each once. */
  readonly told: string[];
  /** Waits until the broker is in the state, and returns what was reported then. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  until(state: string): Promise<any>;
  /** Reads on until this service is connected to it. */
  connected(): Promise<void>;
  removed(): Promise<void>;
}

/** Follows the reported states of one broker from now on. */
function followStates(service: TestService, brokerId: () => string): FollowedStates {
  const told: string[] = [];
  const events: TestSubscription = subscribe(service, service.root, STATUS, { id: service.projectId });
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const next = async (fits: (broker: any) => boolean): Promise<any> => {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    let found: any = null;
    await events.until(({ brokerStatus }) => {
      found = brokerStatus.brokers.find((one: { brokerId: string }) => one.brokerId === brokerId());
      if (!found) return false;
      if (found.cloudState !== null && told.at(-1) !== found.cloudState) told.push(found.cloudState);
      return fits(found);
    });
    return found;
  };
  return {
    begun: () => events.until(({ brokerStatus }) => brokerStatus.kind === 'SNAPSHOT'),
    told,
    until: (state) => next(({ cloudState }) => cloudState === state),
    connected: () => next(({ isConnected }) => isConnected),
    removed: () => next(({ isRemoved }) => isRemoved),
  };
}

/** Makes a broker and waits until this service is connected to it; its id, and its states from the beginning. */
export async function createBroker(service: TestService, wanted: Record<string, unknown> = {}) {
  let id = '';
  const states = followStates(service, () => id);
  await states.begun();
  const input = { projectId: service.projectId, name: 'Plant', engine: 'MOSQUITTO', ...wanted };
  const { data, errors } = await service.graphql(CREATE, { input });
  if (errors) throw new Error(JSON.stringify(errors));
  id = data.createCloudBroker.broker.id;
  await states.connected();
  return { id, states };
}

export const folderOf = (service: TestService, id: string): string => join(service.config.dataDir, 'brokers', id);

export const pidOf = (service: TestService, id: string): number =>
  Number(readFileSync(join(folderOf(service, id), 'mosquitto.pid'), 'utf8'));

export const administratorOf = (service: TestService, id: string) => ({
  username: 'admin',
  password: readFileSync(passwordFile(service.config.dataDir, id), 'utf8'),
});

export async function urlOf(service: TestService, id: string): Promise<string> {
  const { url } = await service.storage.db.broker.findUniqueOrThrow({ where: { id } });
  return url ?? '';
}

/** The ports that its listeners have, by their numbers. */
export async function portsOf(service: TestService, id: string): Promise<Record<number, number>> {
  const rows = await service.storage.db.brokerListener.findMany({ where: { brokerId: id } });
  return Object.fromEntries(rows.map(({ number, port }) => [number, port]));
}

/** Sends one command of a control API over MQTT, as other services do. */
export function ask<T>(
  service: TestService,
  id: string,
  api: 'broker' | 'certificate-management',
  command: string,
  fields: Record<string, unknown> = {},
): Promise<T> {
  const broker = service.services.brokers.visible(id, OPERATOR);
  // The link may still wait for its next attempt after a restart of the broker.
  const options = { triesNow: true };
  return service.services.runtimes.ask(broker, ({ controls }) => controls.call<T>(api, command, fields), options);
}

const OPERATOR = {
  kind: 'OPERATOR',
  id: 'test',
  name: 'test',
  credentialId: 'test',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
} as const;
