import { readFileSync } from 'node:fs';
import { connectAsync } from 'mqtt';
import { onTestFinished } from 'vitest';
import { passwordFile } from '../../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { dynsecDone } from '../../../data-plane/broker/dynsec.ts';
import { FOLLOWED_LOG, type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { connected, startTestService, type TestService } from '../../../support/service.ts';
import type { CrowdPlan } from './crowd.ts';

/** A service with one broker that accepts all clients, with or without a user name. */
export interface ObservedBroker {
  readonly service: TestService;
  readonly brokerId: string;
  readonly port: number;
  readonly accounts: CrowdPlan['accounts'];
  /** Whether the log is followed, so that a persistent session may be older than the log. */
  readonly isFollowed: boolean;
}

const ACCOUNTS = [
  null,
  { username: 'operator', password: 'a password' },
  { username: "odd, u'name') 7", password: 'another one' },
] as const;

export async function embeddedBroker(env: Readonly<Record<string, string>> = {}): Promise<ObservedBroker> {
  const service = await startTestService({ embeddedBroker: true, env });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  await letEverybodyIn(url ?? '', readFileSync(passwordFile(service.config.dataDir, id), 'utf8'));
  await connected(service, id);
  return { service, brokerId: id, port: Number(new URL(url ?? '').port), accounts: ACCOUNTS, isFollowed: false };
}

/** Allows an embedded broker to admit the accounts, and clients without one. */
export async function letEverybodyIn(url: string, password: string): Promise<void> {
  const admin = await connectAsync(url, { username: 'admin', password, reconnectPeriod: 0 });
  onTestFinished(() => admin.endAsync(true));
  await dynsecDone(
    admin,
    { command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: true }] },
    { command: 'createGroup', groupname: 'everybody' },
    { command: 'setAnonymousGroup', groupname: 'everybody' },
    ...ACCOUNTS.flatMap((account) => (account ? [{ command: 'createClient', ...account }] : [])),
  );
  await admin.endAsync();
}

export async function mosquittoBroker(): Promise<ObservedBroker & { readonly mosquitto: Mosquitto }> {
  const mosquitto = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { url, port } = mosquitto;
  const service = await startTestService();
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { name: 'mosquitto', url });
  await connected(service, body.id);
  return { service, brokerId: body.id, port, accounts: ACCOUNTS, isFollowed: true, mosquitto };
}
