import { isDeepStrictEqual } from 'node:util';
import type { DecisionReason, Explanation } from '../../../../src/protocol/apis/access-control/access-explanation.ts';
import {
  ACL_TYPES,
  type AccessDialect,
  type AccessPolicy,
} from '../../../../src/protocol/apis/access-control/access-model.ts';
import type { Refusal, RefusalReason } from '../../../../src/protocol/apis/refusals/refusal.ts';
import { explainAccess } from '../at-once.ts';
import { type Check, CONTROL_ANSWERS, Dice, randomChecks, randomPolicy } from './random-policies.ts';
import { WireClient } from './wire-client.ts';

/** A broker whose access control can be replaced, and how it is reached. */
export interface Target {
  readonly name: string;
  readonly dialect: AccessDialect;
  /** With 5 a broker says what it refuses; with 4 that is seen by what becomes of it. */
  readonly protocolVersion: 4 | 5;
  readonly port: number;
  /** May do everything, whatever the policy; publishes what others receive. */
  readonly admin: { readonly username: string; readonly password: string };
  /** Resolves when the broker has exactly this policy. Existing sessions stay. All accounts have `PASSWORD`. */
  load(policy: AccessPolicy): Promise<void>;
  /** Filters that a connected client is subscribed to. Only asked with MQTT 3.1.1. */
  subscriptionsOf(clientId: string): Promise<readonly string[]>;
  /** Why a question is not asked: the broker differs on purpose, or cannot be watched; null: it has to agree. */
  excuse(check: Check, policy: AccessPolicy): string | null;
  /** What the broker has reported as refused since the last call; without it that is not compared. */
  refusals?(): Promise<readonly Refusal[]>;
}

export const PASSWORD = 'secret';
/** What is below the starts of `random-policies.ts`; `#` leaves out what begins with `$`. */
export const EVERYTHING = ['#', '$SYS/broker/connection/#', '$x/#', '$id/#', '$/#', '$CONTROLLED/#'];
const HARMLESS_COMMAND = JSON.stringify({ commands: [{ command: 'getDefaultACLAccess' }] });

interface Disagreement {
  readonly target: string;
  readonly policy: number;
  readonly check: Check;
  readonly expected: unknown;
  readonly observed: unknown;
  readonly why: unknown;
}

interface DifferentialResult {
  readonly compared: number;
  /** How many of the compared were allowed: a run in which nothing is proves little. */
  readonly allowed: number;
  /** How many denials the broker has reported with a rule or a reason that was compared. */
  readonly reported: number;
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
  let reported = 0;
  for (let number = 0; number < policies; number += 1) {
    const dice = new Dice(seed + number);
    const policy = randomPolicy(dice);
    const checks = randomChecks(dice, policy, checksPerPolicy);
    for (const target of targets) {
      const asked = checks.filter((check) => {
        const excuse = target.excuse(check, policy);
        if (excuse !== null) excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
        return excuse === null;
      });
      const observed = await observe(target, policy, asked);
      const refusals = await target.refusals?.();
      for (const [index, check] of asked.entries()) {
        const why = explainAccess(policy, target.dialect, check);
        compared += 1;
        if (why.allowed) allowed += 1;
        const differs = (expected: unknown, seen: unknown) =>
          disagreements.push({ target: target.name, policy: seed + number, check, expected, observed: seen, why });
        if (observed[index] !== why.allowed) differs(why.allowed, observed[index]);
        if (refusals === undefined || why.allowed || check.action === 'RECEIVE') continue;
        const expected = expectedRefusal(check, why);
        const seen = refusals.map(comparable);
        reported += 1;
        if (!seen.some((refusal) => isDeepStrictEqual(refusal, expected))) {
          differs(
            expected,
            seen.filter(({ clientId }) => clientId === check.clientId),
          );
        }
      }
    }
  }
  return { compared, allowed, reported, excused, disagreements };
}

/** An excuse of brokers that check the subscriptions of a session when it returns: Mosquitto 2.0.11 does not. */
export function lostSubscription(check: Check, policy: AccessPolicy, dialect: AccessDialect): string | null {
  if (check.action !== 'RECEIVE' && check.action !== 'UNSUBSCRIBE') return null;
  const { allowed } = explainAccess(policy, dialect, { ...check, action: 'SUBSCRIBE' });
  return allowed ? null : 'a session that returns gets back only the subscriptions that it may have now';
}

const REFUSED_LOGINS: Readonly<Partial<Record<DecisionReason, RefusalReason>>> = {
  UNKNOWN_USER: 'UNKNOWN_ACCOUNT',
  DISABLED: 'ACCOUNT_DISABLED',
  CLIENT_ID: 'CLIENT_ID_OF_ACCOUNT',
};

const comparable = ({ kind, reason, clientId, username, topic, denial }: Refusal) => {
  const about = { kind, reason, clientId, username, topic };
  return denial === null ? about : { ...about, decision: denial.decision, decidedBy: denial.decidedBy };
};

/** What the broker has to report of a denied check, as it is explained. */
function expectedRefusal({ action, clientId, username, topic }: Check, { reason, decidedBy }: Explanation) {
  const login = REFUSED_LOGINS[reason];
  if (login) return { kind: 'CONNECT', reason: login, clientId, username, topic: null };
  return { kind: action, reason: 'ACCESS_DENIED', clientId, username, topic, decision: reason, decidedBy };
}

/** What the broker really does, in the order of `checks`. */
async function observe(target: Target, policy: AccessPolicy, checks: readonly Check[]): Promise<boolean[]> {
  const results = checks.map(() => false);
  const groups = [...new Set(checks.map(({ clientId }) => clientId))].map((clientId) => {
    const entries = [...checks.entries()].filter(([, check]) => check.clientId === clientId);
    return { entries, options: optionsOf(target, clientId, entries[0]?.[1].username ?? null) };
  });

  // RECEIVE and UNSUBSCRIBE require a subscription that the policy may deny, so persistent sessions subscribe before.
  await target.load(openPolicy(policy));
  await Promise.all(
    groups.map(async ({ entries, options }) => {
      await (await WireClient.connect({ ...options, clean: true }))?.end();
      const client = await WireClient.connect(options);
      const held = entries.filter(([, { action }]) => action === 'RECEIVE' || action === 'UNSUBSCRIBE');
      for (const topic of new Set(held.map(([, { topic }]) => topic))) await client?.subscribe(topic);
      await client?.end();
    }),
  );
  await target.load(policy);

  const admin = await connectAdmin(target);
  const connected = groups.map(async (group) => ({ ...group, client: await WireClient.connect(group.options) }));
  const clients = (await Promise.all(connected)).flatMap((one) => (one.client ? [{ ...one, client: one.client }] : []));
  await admin.subscribe(...EVERYTHING, CONTROL_ANSWERS);
  for (const topic of new Set(checks.filter(({ action }) => action === 'RECEIVE').map(({ topic }) => topic))) {
    if (topic === CONTROL_ANSWERS) {
      const answered = admin.next(CONTROL_ANSWERS);
      await admin.publish('$CONTROL/dynamic-security/v1', HARMLESS_COMMAND);
      await answered;
    } else await admin.publish(topic, 'from the admin');
  }
  // What is acknowledged, or answered to the admin, was handed out to everybody.
  await Promise.all(clients.map(({ client }) => client.ping()));

  await Promise.all(
    clients.map(async ({ client, entries }) => {
      const received = new Set(client.received.map(({ topic }) => topic));
      for (const [index, { action, topic }] of entries) {
        if (action === 'RECEIVE') results[index] = received.has(topic);
        if (action === 'PUBLISH') results[index] = (await client.publish(topic, String(index))) < 128;
        if (action === 'UNSUBSCRIBE') results[index] = ((await client.unsubscribe(topic)) ?? 0) < 128;
      }
    }),
  );
  if (target.protocolVersion === 4) {
    await admin.ping();
    const published = new Set(admin.received.map(({ payload }) => payload));
    for (const { entries, options } of clients) {
      const left = await target.subscriptionsOf(options.clientId);
      for (const [index, { action, topic }] of entries) {
        if (action === 'PUBLISH') results[index] = published.has(String(index));
        if (action === 'UNSUBSCRIBE') results[index] = !left.includes(topic);
      }
    }
  }
  await Promise.all(
    clients.map(async ({ client, entries }) => {
      for (const [index, { action, topic }] of entries) {
        if (action === 'SUBSCRIBE') results[index] = ((await client.subscribe(topic))[0] as number) < 128;
      }
      await client.end();
    }),
  );
  await admin.end();
  return results;
}

/** The same accounts with all permissions, without client ids, and enabled. The default ACL alone excludes $CONTROL. */
function openPolicy(policy: AccessPolicy): AccessPolicy {
  const roles = [{ name: 'open', priority: 0 }];
  const texts = { textName: null, textDescription: null };
  const rules = ACL_TYPES.flatMap((aclType) =>
    ['$CONTROL/#', '$CONTROLLED/#'].map((topic) => ({ aclType, topic, priority: 0, allow: true })),
  );
  const open = { clientId: null, disabled: false, roles, groups: [] };
  return {
    clients: new Map([...policy.clients].map(([username, client]) => [username, { ...client, ...open }])),
    groups: new Map([['open', { groupname: 'open', ...texts, roles }]]),
    roles: new Map([['open', { rolename: 'open', ...texts, allowWildcardSubs: true, acls: rules }]]),
    defaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true },
    anonymousGroup: 'open',
  };
}

/** Each client has an address of its own: brokers limit what they report of one network. */
const optionsOf = ({ port, protocolVersion }: Target, clientId: string, username: string | null) => ({
  port,
  localAddress: `127.0.1.${1 + (Buffer.from(clientId).reduce((sum, byte) => sum + byte, 0) % 250)}`,
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
