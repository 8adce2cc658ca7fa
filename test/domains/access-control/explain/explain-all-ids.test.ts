import { expect, test } from 'vitest';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { rolesInOrder } from '../../../../src/protocol/apis/access-control/access-order.ts';
import {
  bindRole,
  compileRole,
  decide,
  defaultAllows,
} from '../../../../src/protocol/apis/access-control/acl-evaluation.ts';
import { explainAccess, whoCan } from '../at-once.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { Dice, randomChecks, randomPolicy } from '../policy/random-policies.ts';

/** Accounts that may use any client id, and rules that ask for it. */
function withMorePlaces(dice: Dice, policy: AccessPolicy): AccessPolicy {
  const clients = [...policy.clients.values()].map((client) => ({ ...client, clientId: null, disabled: false }));
  const roles = [...policy.roles.values()].map((role) => ({
    ...role,
    acls: role.acls.map((rule) => {
      if (dice.chance(50)) return rule;
      const levels = rule.topic.split('/');
      levels[dice.below(levels.length)] = '%c';
      return { ...rule, topic: levels.join('/') };
    }),
  }));
  return {
    ...policy,
    clients: new Map(clients.map((client) => [client.username, client])),
    roles: new Map(roles.map((role) => [role.rolename, role])),
  };
}

test.each([
  ['2.0', MOSQUITTO_2_0],
  ['2.1', MOSQUITTO_2_1],
])('what is explained for all client ids at once is what is decided for each of them (%s)', (_, dialect) => {
  const seen = { allowed: 0, denied: 0, conditional: 0 };
  for (let seed = 1; seed <= 150; seed += 1) {
    const dice = new Dice(seed);
    const policy = withMorePlaces(dice, randomPolicy(dice));
    for (const { username, action, topic } of randomChecks(dice, policy, 10)) {
      const account = username === null ? null : policy.clients.get(username);
      if (!account) continue;
      const rolesOf = (groupname: string) => policy.groups.get(groupname)?.roles ?? [];
      const roles = rolesInOrder(account.roles, account.groups, rolesOf).flatMap(({ rolename }) => {
        const role = policy.roles.get(rolename);
        return role ? [compileRole(role, dialect)] : [];
      });
      const isAllowed = (clientId: string) => {
        const bound = roles.map((role) => bindRole(role, { username, clientId }));
        return decide(bound, action, topic) ?? defaultAllows(policy.defaultAcl, action, topic);
      };
      const where = `seed ${seed}: ${username} ${action} ${topic}`;
      const answer = explainAccess(policy, dialect, { username, clientId: null, action, topic });
      if (answer.reason === 'BROKER') continue;
      const usual = isAllowed('stands nowhere');
      // Mosquitto 2.1 compares a rule with an invalid filter up to the invalid part, also if a client id is shorter.
      const ids = topic.split('/').flatMap((level) => [...level].map((_, at, all) => all.slice(0, at + 1).join('')));
      const byId = ids.map((id) => isAllowed(id));
      expect(answer.allowed, where).toBe(usual);
      expect(answer.conditional, where).toBe(byId.some((allowed) => allowed !== usual));
      for (const [index, clientId] of ids.entries()) {
        const known = explainAccess(policy, dialect, { username, clientId, action, topic });
        expect(known, `${where} as ${clientId}`).toMatchObject({ allowed: byId[index], conditional: false });
      }
      const grantee = whoCan(policy, dialect, action, topic).find((entry) => entry.username === username);
      expect(grantee !== undefined, where).toBe(usual || byId.includes(true));
      expect(grantee?.conditional ?? false, where).toBe(answer.conditional);
      seen.allowed += usual ? 1 : 0;
      seen.denied += usual ? 0 : 1;
      seen.conditional += answer.conditional ? 1 : 0;
    }
  }
  expect(seen.allowed).toBeGreaterThan(100);
  expect(seen.denied).toBeGreaterThan(100);
  if (dialect.substitution) expect(seen.conditional).toBeGreaterThan(10);
  else expect(seen.conditional).toBe(0);
});
