import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AccessPolicy, AccessRole } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { sharedFilterProblem } from '../../../../src/protocol/apis/access-control/shared-filters.ts';
import {
  isKeptByNewOnly,
  isSameRule,
  versionRulesOf,
} from '../../../../src/protocol/apis/access-control/version-rules.ts';
import { explainAccess } from '../at-once.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { Dice, randomChecks, randomPolicy } from './random-policies.ts';

/** The policy as a Mosquitto 2.0 has it that was never given the rules that it cannot keep. */
const withoutLost = (policy: AccessPolicy): AccessPolicy => ({
  ...policy,
  roles: new Map([...policy.roles].map(([name, role]) => [name, lessOf(role)])),
});

function lessOf(role: AccessRole): AccessRole {
  const lost = versionRulesOf(role).filter(isKeptByNewOnly);
  const acls = role.acls.filter((acl) => !lost.some(({ rule }) => rule !== null && isSameRule(rule, acl)));
  return { ...role, acls, allowWildcardSubs: null };
}

test('versions decide differently only by the rules that are listed as different', () => {
  let different = 0;
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), (seed, isLost) => {
      const dice = new Dice(seed);
      const policy = randomPolicy(dice);
      const older = isLost ? withoutLost(policy) : policy;
      for (const check of randomChecks(dice, policy, 100)) {
        const [before, now] = [explainAccess(older, MOSQUITTO_2_0, check), explainAccess(policy, MOSQUITTO_2_1, check)];
        // The filter itself is refused, whatever the rules are.
        if (before.allowed === now.allowed || sharedFilterProblem(check.topic, MOSQUITTO_2_1.sharedFilters)) continue;
        different += 1;
        const listed = [...policy.roles.values()].flatMap(versionRulesOf);
        const isListed = [before, now].some(
          ({ decidedBy }) =>
            decidedBy !== null &&
            listed.some(
              ({ rolename, rule }) =>
                rolename === decidedBy.rolename &&
                (rule === null || decidedBy.rule === null ? rule === decidedBy.rule : isSameRule(rule, decidedBy.rule)),
            ),
        );
        expect(isListed, JSON.stringify({ check, before, now })).toBe(true);
      }
    }),
  );
  expect(different).toBeGreaterThan(10);
});

test('rules that no version reads differently are not listed', () => {
  const acl = (aclType: 'subscribePattern' | 'subscribeLiteral' | 'publishClientSend', topic: string) =>
    ({ aclType, topic, allow: true, priority: 0 }) as const;
  const acls = [
    acl('subscribePattern', 'a/#'),
    acl('subscribePattern', '$SYS/#'),
    acl('subscribePattern', 'a/%client'),
    acl('subscribeLiteral', 'a/%c'),
    acl('subscribeLiteral', '#'),
    acl('publishClientSend', '#'),
  ];
  expect(versionRulesOf({ rolename: 'r', allowWildcardSubs: null, acls })).toEqual([]);
});
