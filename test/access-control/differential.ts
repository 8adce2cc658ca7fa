import { explainAccess } from '../../src/access-control/access-explainer.ts';
import type { AccessDialect, AccessPolicy } from '../../src/access-control/access-model.ts';
import { type Check, CONTROL_ANSWERS, Dice, randomChecks, randomPolicy } from './random-policies.ts';
import { WireClient } from './wire-client.ts';

/** A broker whose access control can be replaced, and how it is reached. */
export interface Target {
  readonly name: string;
  readonly dialect: AccessDialect;
  readonly protocolVersion: 4 | 5;
  readonly port: number;
  /** May do everything, whatever the policy; publishes what others receive. */
  readonly admin: { readonly username: string; readonly password: string };
  /** Resolves when the broker has this policy and no other, and sessions of before are still there. All accounts have `PASSWORD`. */
  load(policy: AccessPolicy): Promise<void>;
  /** Drops all sessions. */
  forget(): Promise<void>;
  /** Why this broker differs on purpose, or by a known defect; null: it has to agree. */
  excuse(check: Check): string | null;
}

export const PASSWORD = 'secret';
const HARMLESS_COMMAND = JSON.stringify({ commands: [{ command: 'getDefaultACLAccess' }] });

export interface Disagreement {
  readonly target: string;
  readonly policy: number;
  readonly check: Check;
  readonly expected: boolean;
  readonly observed: boolean;
  readonly why: unknown;
}

export interface DifferentialResult {
  readonly compared: number;
  /** How many of the compared were allowed: a run in which nothing is proves little. */
  readonly allowed: number;
  readonly excused: ReadonlyMap<string, number>;
  readonly disagreements: readonly Disagreement[];
}

/** Random policies, loaded into each target; what really happens there is compared with what is explained. */
export async function runDifferential(
  targets: readonly Target[],
  { seed, policies, checksPerPolicy }: { seed: number; policies: number; checksPerPolicy: number },
): Promise<DifferentialResult> {
  const disagreements: Disagreement[] = [];
  const excused = new Map<string, number>();
  let compared = 0;
  let allowed = 0;
  for (let number = 0; number < policies; number += 1) {
    const dice = new Dice(seed + number);
    const policy = randomPolicy(dice);
    const checks = randomChecks(dice, policy, checksPerPolicy);
    for (const target of targets) {
      const observed = await observe(target, policy, checks);
      for (const [index, check] of checks.entries()) {
        const excuse = target.excuse(check);
        if (excuse !== null) {
          excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
          continue;
        }
        const why = explainAccess(policy, target.dialect, check);
        compared += 1;
        if (why.allowed) allowed += 1;
        if (observed[index] === why.allowed) continue;
        disagreements.push({
          target: target.name,
          policy: seed + number,
          check,
          expected: why.allowed,
          observed: observed[index] as boolean,
          why,
        });
      }
    }
  }
  return { compared, allowed, excused, disagreements };
}

/** What the broker really does, in the order of `checks`. */
async function observe(target: Target, policy: AccessPolicy, checks: readonly Check[]): Promise<boolean[]> {
  const results = checks.map(() => false);
  const identities = new Map(checks.map((check) => [JSON.stringify([check.username, check.clientId]), check]));
  const mine = (key: string) =>
    [...checks.entries()].filter(([, { username, clientId }]) => JSON.stringify([username, clientId]) === key);

  // Who is to receive has to be subscribed, which the policy may forbid: so that is done before, in sessions that stay.
  await target.forget();
  await target.load(openPolicy(policy, [...identities.values()]));
  await Promise.all(
    [...identities].map(async ([key, identity]) => {
      const topics = mine(key).filter(([, { action }]) => action === 'RECEIVE');
      const client = topics.length > 0 ? await WireClient.connect(optionsOf(target, identity)) : null;
      if (client) await client.subscribe(...new Set(topics.map(([, { topic }]) => topic)));
      await client?.end();
    }),
  );
  await target.load(policy);

  const admin = await connectAdmin(target);
  const connected = new Map<string, WireClient>();
  for (const [key, identity] of identities) {
    const client = await WireClient.connect(optionsOf(target, identity));
    if (client) connected.set(key, client);
  }
  for (const topic of new Set(checks.filter(({ action }) => action === 'RECEIVE').map(({ topic }) => topic))) {
    if (topic === CONTROL_ANSWERS) await admin.publish('$CONTROL/dynamic-security/v1', HARMLESS_COMMAND);
    else await admin.publish(topic, 'message');
  }
  await Promise.all(
    [...connected].map(async ([key, client]) => {
      await client.ping();
      const received = new Set(client.received.map(({ topic }) => topic));
      for (const [index, check] of mine(key)) {
        if (check.action === 'RECEIVE') results[index] = received.has(check.topic);
        if (check.action === 'PUBLISH') results[index] = (await client.publish(check.topic, 'message')) < 128;
        if (check.action === 'SUBSCRIBE') results[index] = ((await client.subscribe(check.topic))[0] as number) < 128;
        if (check.action === 'UNSUBSCRIBE') results[index] = ((await client.unsubscribe(check.topic)) ?? 0) < 128;
      }
      await client.end();
    }),
  );
  await admin.end();
  return results;
}

/** The same accounts with every right, no client id bound and nobody disabled. */
function openPolicy(policy: AccessPolicy, checks: readonly Check[]): AccessPolicy {
  const usernames = new Set([...policy.clients.keys(), ...checks.map(({ username }) => username)]);
  const clients = [...usernames]
    .filter((username) => username !== null)
    .map((username) => ({
      username,
      clientId: null,
      textName: null,
      textDescription: null,
      disabled: false,
      roles: [],
      groups: [],
    }));
  return {
    clients: new Map(clients.map((client) => [client.username, client])),
    groups: new Map(),
    roles: new Map(),
    defaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true },
    anonymousGroup: null,
  };
}

const optionsOf = ({ port, protocolVersion }: Target, { username, clientId }: Check) => ({
  port,
  protocolVersion,
  clientId,
  clean: false,
  ...(username === null ? {} : { username, password: PASSWORD }),
});

async function connectAdmin({ port, protocolVersion, admin }: Target): Promise<WireClient> {
  const client = await WireClient.connect({ port, protocolVersion, clientId: 'the admin', clean: true, ...admin });
  if (!client) throw new Error('the administrator was refused');
  return client;
}
