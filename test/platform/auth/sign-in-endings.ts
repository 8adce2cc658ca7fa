import { SignInAccounts } from '../../../src/domains/sign-in/accounts.ts';
import type { CheckedUser } from '../../../src/domains/sign-in/providers.ts';
import { SignInChecks } from '../../../src/domains/sign-in/sign-in-checks.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { silentLog } from '../../support/database.ts';
import { done, type RightsEnding, type World } from './rights-endings.ts';

const DAY_MS = 24 * 3_600_000;

function accountsOf({ storage, config, services }: World): SignInAccounts {
  const { db, changes } = storage;
  const sealer = openSealer({ dataDir: config.dataDir, secretKey: config.secretKey });
  return new SignInAccounts({ db, changes, sealer, audit: services.audit, createUsers: true, log: silentLog });
}

/** A member of the group, as the provider describes the user after a sign-in. */
const told = (subject: string, group: string) => ({
  provider: 'sso' as const,
  subject,
  email: `${subject}@example.com`,
  isEmailVerified: true,
  name: null,
  claims: { groups: [group] },
  handle: subject,
});

/** A user who signed in at a provider and has a role by a rule only. */
async function signedIn(world: World) {
  const subject = crypto.randomUUID();
  const accounts = accountsOf(world);
  const { userId } = await accounts.admit(told(subject, subject));
  const create = 'mutation ($i: CreateSignInRulesInput!) { createSignInRules(input: $i) { rules { id } } }';
  const rules = [{ provider: 'SSO', pattern: subject, role: 'VIEWER' }];
  const { createSignInRules } = (await done(world, create, { projectId: world.projectId, rules })) as {
    createSignInRules: { rules: readonly [{ id: string }] };
  };
  const { token } = await world.services.auth.sessions.open(userId, { provider: 'sso' });
  return { token, userId, subject, accounts, ruleId: createSignInRules.rules[0].id };
}

/** Asks a provider about everybody, who says this of the one. */
async function check(world: World, accounts: SignInAccounts, subject: string, answer: CheckedUser): Promise<void> {
  const { db, changes, leases } = world.storage;
  const provider = {
    provider: 'sso' as const,
    check: async (person: { readonly subject: string; readonly handle: string }): Promise<CheckedUser> =>
      person.subject === subject ? answer : { outcome: 'ACTIVE', claims: {}, handle: person.handle, isComplete: true },
  };
  const { audit } = world.services;
  const checks = new SignInChecks({
    db,
    changes,
    leases,
    accounts,
    audit,
    providers: [provider],
    everyMs: 0,
    log: silentLog,
  });
  await checks.run();
  await checks.close();
}

/** All that takes rights away from people who sign in elsewhere. */
export const SIGN_IN_ENDINGS: Record<string, RightsEnding> = {
  'a person whose rule is removed': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, ruleId } = await signedIn(world);
      const remove = 'mutation ($i: DeleteSignInRuleInput!) { deleteSignInRule(input: $i) { deletedRuleId } }';
      return { token, end: () => done(world, remove, { ruleId }) };
    },
  },
  'a person whose rule is for others now': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, ruleId } = await signedIn(world);
      const update = 'mutation ($i: UpdateSignInRuleInput!) { updateSignInRule(input: $i) { rule { id } } }';
      return { token, end: () => done(world, update, { ruleId, pattern: 'somebody else' }) };
    },
  },
  'a person who has left the group, at a check': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, subject, accounts } = await signedIn(world);
      const answer = { outcome: 'ACTIVE', claims: { groups: [] }, handle: subject, isComplete: true } as const;
      return { token, end: () => check(world, accounts, subject, answer) };
    },
  },
  'a person who has left the group, at the next sign-in': {
    code: 'NOT_ALLOWED',
    holder: async (world) => {
      const { token, subject, accounts } = await signedIn(world);
      return { token, end: () => accounts.admit(told(subject, 'others')) };
    },
  },
  'a person whom the provider does not know any more': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, subject, accounts } = await signedIn(world);
      return { token, end: () => check(world, accounts, subject, { outcome: 'GONE' }) };
    },
  },
  'a person of whom nothing was said for too long': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, userId } = await signedIn(world);
      return {
        token,
        end: async () => {
          const checkedAt = new Date(Date.now() + 100 - DAY_MS);
          await world.storage.db.identity.updateMany({ where: { userId }, data: { checkedAt } });
          await world.storage.changes.announce('user', userId);
        },
      };
    },
  },
  'a person who signs in with a password here from now on': {
    code: 'UNAUTHORIZED',
    holder: async (world) => {
      const { token, userId } = await signedIn(world);
      const update = 'mutation ($i: UpdateUserInput!) { updateUser(input: $i) { user { id } } }';
      return { token, end: () => done(world, update, { userId, ssoType: null }) };
    },
  },
};
