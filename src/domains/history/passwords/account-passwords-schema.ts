import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { pageCost, WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { listConnection, pageOf } from '../../../platform/paging.ts';
import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { Account, BROKER_ID, OFFSET } from '../../access-control/graph/access-objects-schema.ts';
import type { AccessView } from '../../access-control/graph/access-view.ts';
import { type PasswordTimes, readPasswordTimes } from './password-times.ts';

interface AccountPassword {
  /** Sorts the list. */
  readonly id: string;
  readonly username: string;
  readonly setAt: Date | null;
  readonly view: AccessView;
}

const AccountPassword = builder.objectRef<AccountPassword>('AccountPassword').implement({
  description: 'An account, and when its password was set. The password itself is never returned.',
  fields: (t) => ({
    account: t.field({
      description: 'The account.',
      type: Account,
      nullable: true,
      resolve: ({ view, username }) => view.account(username),
    }),
    setAt: t.field({
      description:
        'When this service set the password. `null` if the audit does not say: it was set before `recordedSince`, by another client of the broker, by a copy from another broker, or in one of `partEntries`. Another client may have set a newer one since.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ setAt }) => setAt,
    }),
  }),
});

function passwordsOf(view: AccessView, { setAt }: PasswordTimes, before: Date | null): readonly AccountPassword[] {
  const all = [...view.policy.clients.keys()].map((username) => {
    const at = setAt.get(username) ?? null;
    return { id: `${at?.toISOString() ?? ''} ${username}`, username, setAt: at, view };
  });
  const found = before === null ? all : all.filter(({ setAt: at }) => at === null || at < before);
  return found.sort((one, other) => byCodeUnits(one.id, other.id));
}

builder.queryField('accountPasswords', (t) =>
  t.connection(
    {
      description:
        'The accounts of a broker by the age of their passwords, from the audit: unknown ages first, then the oldest.',
      type: AccountPassword,
      ...onBroker('ADMIN'),
      complexity: (args) => ({ ...pageCost(args), field: WHOLE_POLICY_COST }),
      args: {
        brokerId: t.arg.id(BROKER_ID),
        setBefore: t.arg({
          type: 'DateTime',
          description: 'Returns only passwords that were set before this time, or at an unknown time. Default: all.',
        }),
        offset: t.arg.int(OFFSET),
      },
      resolve: async (_root, { brokerId, setBefore, ...page }, { services, viewer, db }) => {
        const broker = services.brokers.visible(brokerId, viewer);
        const [view, times] = await Promise.all([
          services.accessControl.view(broker),
          readPasswordTimes(db, broker.id),
        ]);
        const { recordedSince, partEntries } = times;
        const found = listConnection(passwordsOf(view, times, setBefore ?? null), page, 'AccountPassword');
        return { ...found, recordedSince, partEntries };
      },
    },
    {
      name: 'AccountPasswordConnection',
      description: pageOf('accounts'),
      fields: (page) => ({
        ...totalCount(page),
        recordedSince: page.field({
          description: 'Since when changes by this service are known. `null` if the audit is empty.',
          type: 'DateTime',
          nullable: true,
          resolve: ({ recordedSince }) => recordedSince,
        }),
        partEntries: page.int({
          description:
            'Number of entries of the audit since then that do not say which of their changes were made, and may have set further passwords. Long lists of changes are truncated in the audit.',
          resolve: ({ partEntries }) => partEntries,
        }),
      }),
    },
    { name: 'AccountPasswordEdge', description: 'An account and its cursor.' },
  ),
);
