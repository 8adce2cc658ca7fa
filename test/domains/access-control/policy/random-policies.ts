import type { AccessAction, AccessIdentity } from '../../../../src/protocol/apis/access-control/access-explanation.ts';
import { ACCESS_ACTIONS } from '../../../../src/protocol/apis/access-control/access-explanation.ts';
import {
  ACL_TYPES,
  type AccessGroup,
  type AccessPolicy,
  type AccessRole,
  type Account,
  type AclRule,
  type Membership,
} from '../../../../src/protocol/apis/access-control/access-model.ts';
import { membershipsInOrder } from '../../../../src/protocol/apis/access-control/access-order.ts';
import { filterProblem, topicProblem } from '../../../../src/protocol/mqtt/topics.ts';

/** The same numbers for the same seed (mulberry32). */
export class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * count);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  some<T>(values: readonly T[], atMost: number): T[] {
    const left = [...values];
    return Array.from({ length: this.below(Math.min(atMost, left.length) + 1) }, () => {
      return left.splice(this.below(left.length), 1)[0] as T;
    });
  }
}

export interface Check extends AccessIdentity {
  readonly clientId: string;
  readonly action: AccessAction;
  readonly topic: string;
}

/** Names that sort differently by bytes, by UTF-16 and by alphabet, and some that look like topics. */
const NAMES = ['a', 'B', 'é', '\u{ff5a}', '\u{1f600}', 'r/1', 'r#+', '%c', 'two words', 'zz', 'Z', '$x'];
const USERS = ['dev1', 'dev2', 'Dev1', 'u/1', 'u+1', 'ü', '\u{1f600}', '%u', '$x', 'two words'];
const CLIENT_IDS = ['dev1', 'c2', 'c/3', 'c+', 'ç', '%c', '$id', 'dev2', 'Dev 1', 'dev'];
const LEVELS = ['a', 'b', '', 'dev1', 'dev2', 'dev', 'c2', '%c', '%u', '%count', 'é', '\u{1f600}', 'two words', '$x'];
const STARTS = ['$SYS', '$CONTROL', '$CONTROLLED', '$x', '$share/g', '$id', '$'];
/** Invalid topic filters that brokers accept in ACLs. */
const ODD_RULES = [
  'a/#/b',
  'a#',
  'a+',
  '+/#x',
  'a/+/#/b',
  '+a',
  '#/a',
  'a/#b',
  '+/#',
  '%c/#/b',
  '%u/+/#x',
  'a/%c/+b',
  '%u/%c#',
];
/** Many rules and questions are about these, so that several rules match and their order decides. */
const BUSY_TOPICS = ['a/b', 'dev1/c2', '$x/a'];
/** Where dynamic security answers commands. */
export const CONTROL_ANSWERS = '$CONTROL/dynamic-security/v1/response';
const PRIORITIES = [-1, -1, 0, 0, 0, 1, 2, 7, 100_000];

function topic(dice: Dice): string {
  const levels = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(LEVELS));
  if (dice.chance(20)) levels.unshift(dice.pick(STARTS));
  const text = levels.join('/');
  return topicProblem(text) === null ? text : 'a';
}

function filter(dice: Dice): string {
  const levels = topic(dice)
    .split('/')
    .map((level) => (dice.chance(25) ? '+' : level));
  if (dice.chance(30)) levels.push('#');
  if (dice.chance(6)) return dice.pick(['#', '/#', '+', '+/#', '/+', '$SYS/#', '$CONTROL/#', '+/+', CONTROL_ANSWERS]);
  const text = levels.join('/');
  return filterProblem(text) === null ? text : '#';
}

function ruleTopic(dice: Dice): string {
  if (dice.chance(5)) return dice.pick(ODD_RULES);
  return dice.chance(75) ? loosened(dice, dice.pick(BUSY_TOPICS)) : filter(dice);
}

/** One of the filters that match the topic. */
function loosened(dice: Dice, topic: string): string {
  const levels = topic.split('/').map((level) => (dice.chance(35) ? '+' : level));
  return dice.chance(30) ? [...levels.slice(0, dice.below(levels.length + 1)), '#'].join('/') : levels.join('/');
}

function rules(dice: Dice): AclRule[] {
  const seen = new Set<string>();
  return Array.from({ length: dice.below(20) }, () => ({
    aclType: dice.pick(ACL_TYPES),
    topic: ruleTopic(dice),
    priority: dice.pick(PRIORITIES),
    allow: dice.chance(55),
  })).filter(({ aclType, topic }) => !seen.has(`${aclType} ${topic}`) && seen.add(`${aclType} ${topic}`));
}

const memberships = (dice: Dice, names: readonly string[], atMost: number): readonly Membership[] =>
  membershipsInOrder(dice.some(names, atMost).map((name) => ({ name, priority: dice.pick(PRIORITIES) })));

const byName = <T>(values: readonly T[], nameOf: (value: T) => string) =>
  new Map(values.map((value) => [nameOf(value), value]));

export function randomPolicy(dice: Dice): AccessPolicy {
  const roles: AccessRole[] = NAMES.map((rolename) => ({
    rolename,
    textName: null,
    textDescription: null,
    allowWildcardSubs: !dice.chance(10),
    acls: rules(dice),
  }));
  const groups: AccessGroup[] = dice.some(NAMES, 8).map((groupname) => ({
    groupname,
    textName: null,
    textDescription: null,
    roles: memberships(dice, NAMES, 4),
  }));
  const groupnames = groups.map(({ groupname }) => groupname);
  const clients: Account[] = USERS.map((username, index) => ({
    username,
    clientId: dice.chance(25) ? (dice.chance(80) ? (CLIENT_IDS[index] as string) : 'not this one') : null,
    textName: null,
    textDescription: null,
    disabled: dice.chance(8),
    roles: memberships(dice, NAMES, 3),
    groups: memberships(dice, groupnames, 3),
  }));
  return {
    clients: byName(clients, ({ username }) => username),
    groups: byName(groups, ({ groupname }) => groupname),
    roles: byName(roles, ({ rolename }) => rolename),
    defaultAcl: {
      publishClientSend: dice.chance(50),
      publishClientReceive: dice.chance(50),
      subscribe: dice.chance(50),
      unsubscribe: dice.chance(50),
    },
    anonymousGroup: groupnames.length > 0 && dice.chance(70) ? dice.pick(groupnames) : null,
  };
}

/** Most topics are busy ones or made of the rules, because topics out of nothing seldom meet one. */
export function randomChecks(dice: Dice, policy: AccessPolicy, count: number): Check[] {
  const ruleTopics = [...policy.roles.values()].flatMap(({ acls }) => acls.map(({ topic }) => topic));
  return Array.from({ length: count }, () => {
    const index = dice.below(USERS.length + 2);
    // No client id belongs to two of them: the second connection would end the first.
    const username = dice.chance(3) ? 'nobody' : (USERS[index] ?? null);
    const clientId =
      username === 'nobody' ? 'nobody' : username === null ? `anonymous-${index}` : (CLIENT_IDS[index] as string);
    const action = dice.pick(ACCESS_ACTIONS);
    const base = dice.chance(50)
      ? dice.pick(BUSY_TOPICS)
      : ruleTopics.length > 0 && dice.chance(60)
        ? dice.pick(ruleTopics)
        : filter(dice);
    const asked = asksFilter(action)
      ? base
      : base
          .split('/')
          .map((level) => (/[+#]/.test(level) ? dice.pick(LEVELS) : filled(dice, level, username, clientId)));
    const text = typeof asked === 'string' ? asked : asked.join('/');
    const problem = asksFilter(action) ? filterProblem(text) : topicProblem(text);
    const valid = problem === null ? text : 'a/b';
    return { username, clientId, action, topic: action === 'RECEIVE' ? publishable(valid, dice) : valid };
  });
}

const asksFilter = (action: AccessAction) => action === 'SUBSCRIBE' || action === 'UNSUBSCRIBE';

/** What brokers keep for themselves is replaced by what can be made to arrive below the same start. */
function publishable(topic: string, dice: Dice): string {
  if (topic.startsWith('$SYS')) return `$SYS/broker/connection/${dice.pick(['dev1', 'c2', '%c'])}/state`;
  return topic.startsWith('$CONTROL/') ? CONTROL_ANSWERS : topic;
}

function filled(dice: Dice, level: string, username: string | null, clientId: string): string {
  const value = level === '%c' ? clientId : level === '%u' ? username : null;
  return value === null || /[+#]/.test(value) || dice.chance(30) ? level : value;
}
