import { expect, test } from 'vitest';
import { explainAccess } from '../../../../src/domains/access-control/explain/access-explainer.ts';
import { whoCan } from '../../../../src/domains/access-control/explain/who-can.ts';
import type { SlicedTask } from '../../../../src/platform/scheduling/sliced-task.ts';
import { sortInSteps } from '../../../../src/platform/sorting/sort-in-steps.ts';
import type { AccessRole } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { rolesInSteps } from '../../../../src/protocol/apis/access-control/access-order.ts';
import { compareInvalid } from '../../../../src/protocol/apis/access-control/invalid-filter.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { accessWorld } from '../access-service.ts';
import { MOSQUITTO_2_1 } from '../dialects.ts';
import { policyOf } from '../policy/policy-builder.ts';

/** 2000 rules with `%c` in one of ninety places; all match with the client id that stands there in the topic. */
const rulesWithPlaces = (start: string): string[] =>
  Array.from({ length: 2_000 }, (_, index) => {
    const place = index % 90;
    return `${index % 2 === 0 ? '' : 'no '}send @${index} ${start}/${'+/'.repeat(place)}%c/${'+/'.repeat(89 - place)}#`;
  });
const LONG_TOPIC = `start/${Array.from({ length: 180 }, (_, index) => `l${index}`).join('/')}`;

function counted<T>(steps: SlicedTask<T>): { value: T; turns: number } {
  for (let turns = 0; ; turns += 1) {
    const { done, value } = steps.next();
    if (done) return { value, turns };
  }
}

test('rules are looked at once, for all client ids together and in short steps', () => {
  const roles = { one: rulesWithPlaces('start'), two: rulesWithPlaces('+'), three: rulesWithPlaces('other') };
  const clients = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`u${n}`, { roles: Object.keys(roles) }]));
  const policy = policyOf({ roles, clients });
  let read = 0;
  const watched = new Map(
    [...policy.roles].map(([name, role]): [string, AccessRole] => {
      const acls = role.acls.map((rule) => ({
        ...rule,
        get topic() {
          read += 1;
          return rule.topic;
        },
      }));
      return [name, { ...role, acls }];
    }),
  );
  const question = { username: 'u1', clientId: null, action: 'PUBLISH', topic: LONG_TOPIC } as const;
  const explained = counted(explainAccess({ ...policy, roles: watched }, MOSQUITTO_2_1, question));
  expect(explained.value).toMatchObject({ allowed: false, conditional: true, lookedAtTotal: 6_000 });
  // Remarks evaluate the thousand listed rules again.
  expect(read).toBeLessThan(6_000 + 10_000);
  expect(explained.turns).toBeGreaterThan(50);

  read = 0;
  const found = counted(whoCan({ ...policy, roles: watched }, MOSQUITTO_2_1, 'PUBLISH', LONG_TOPIC));
  expect(found.value).toHaveLength(300);
  expect(found.value.every(({ conditional }) => conditional)).toBe(true);
  expect(read).toBeLessThan(6_000 + 10_000);
  expect(found.turns).toBeGreaterThan(300);
});

test('a role that is held in many ways is looked at once, in its first place', () => {
  const groups = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`g${n}`, ['big']]));
  const big = Array.from({ length: 3_000 }, (_, n) => `send t/${n}`);
  const policy = policyOf({ roles: { big }, groups, clients: { ada: { groups: Object.keys(groups) } } });
  const question = { username: 'ada', clientId: null, action: 'PUBLISH', topic: 'other' } as const;
  const { value, turns } = counted(explainAccess(policy, MOSQUITTO_2_1, question));
  expect(value).toMatchObject({ allowed: false, lookedAtTotal: 3_000 });
  expect(turns).toBeLessThan(1_000);
});

test('a thousand groups of the same thousand roles are ordered in steps, and each list is sorted once', () => {
  let compared = 0;
  const roles = Array.from({ length: 1_000 }, (_, n) => ({
    name: `role ${n % 2 === 0 ? n : 1_000 - n}`,
    get priority() {
      compared += 1;
      return -1;
    },
  }));
  const groups = Array.from({ length: 1_000 }, (_, n) => ({ name: `g${n}`, priority: -1 }));
  const { value, turns } = counted(rolesInSteps([], groups, () => roles));
  expect(value).toHaveLength(1_000);
  expect(value.every(({ group }) => group === 'g0')).toBe(true);
  expect(turns).toBe(1_000);
  // n log n of one list.
  expect(compared).toBeLessThan(100_000);
});

test('accounts are sorted in steps', () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `${'x'.repeat(900)}${(n * 7_919) % 5_000}`);
  const sorted = counted(sortInSteps(names, (one, other) => (one < other ? -1 : 1)));
  expect(sorted.value).toEqual(names.toSorted());
  // Seven merges of 5,000 names by steps of 64.
  expect(sorted.turns).toBeGreaterThan(600);
  const pairs = Array.from({ length: 300 }, (_, n) => [n % 3, n] as const);
  expect(counted(sortInSteps(pairs, ([one], [other]) => one - other)).value).toEqual(
    pairs.toSorted(([one], [other]) => one - other),
  );
  expect(counted(sortInSteps([], () => 0)).value).toEqual([]);

  const clients = Object.fromEntries(names.map((name) => [name, { roles: ['all'] }]));
  const policy = policyOf({ roles: { all: ['send #'] }, clients });
  const found = counted(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'a'));
  expect(found.value.map(({ username }) => username).filter((name) => name !== null)).toEqual(names.toSorted());
  // A step for each account, and those of the sort.
  expect(found.turns).toBeGreaterThan(5_600);
});

test('rules of thousands of levels are evaluated in a step each', () => {
  const big = Array.from({ length: 100 }, (_, n) => `send @${n} ${'%c/'.repeat(21_840)}${n % 2 === 0 ? '+' : '#/x'}`);
  const policy = policyOf({ roles: { big }, clients: { ada: { roles: ['big'] } } });
  const topic = Array(200).fill('x').join('/');
  const question = { username: 'ada', clientId: 'y', action: 'PUBLISH', topic } as const;
  const explained = counted(explainAccess(policy, MOSQUITTO_2_1, question));
  expect(explained.value).toMatchObject({ allowed: false, lookedAtTotal: 100 });
  // The remarks look at the rules a second time.
  expect(explained.turns).toBeGreaterThanOrEqual(200);
  expect(counted(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', topic)).turns).toBeGreaterThanOrEqual(100);
});

test('an invalid rule is compared in a time that grows with its length only', () => {
  const levels = 200_000;
  const before = busyMs();
  const { placeholders, result } = compareInvalid(`${'%c/'.repeat(levels)}#/x`, `${'x/'.repeat(levels)}x`, false);
  expect(busyMs() - before).toBeLessThan(3_000);
  expect(placeholders).toHaveLength(levels);
  expect(result).toBeNull();
});

test('one document holds a few explanations, and not dozens', async () => {
  const { service, brokerId } = await accessWorld('the embedded broker');
  const { token } = await service.person('VIEWER');
  const asking = (count: number) => {
    const fields = Array.from(
      { length: count },
      (_, n) => `a${n}: explainAccess(brokerId: $b, username: "u", action: PUBLISH, topic: "t") { allowed }`,
    );
    return service.graphql(`query ($b: ID!) { ${fields.join(' ')} }`, { b: brokerId }, token);
  };
  const { errors } = await asking(30);
  expect(errors).toMatchObject([{ extensions: { code: 'TOO_COMPLEX' } }]);
  const few = await asking(15);
  expect(few.errors).toBeUndefined();
  expect(few.data.a14.allowed).toBe(false);
});
