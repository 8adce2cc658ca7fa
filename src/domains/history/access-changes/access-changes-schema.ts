import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { requireSignedIn, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { invalid } from '../../../platform/errors.ts';
import { BROKER_ID } from '../../access-control/graph/access-objects-schema.ts';
import { AuditEvent } from '../../audit/audit-schema.ts';
import { type AccessChanges, objectKey, readAccessChanges } from './access-changes.ts';

const MAX_CHANGES = 1_000;

interface ShownChanges extends AccessChanges {
  readonly since: Date;
  readonly first: number;
}

const ChangedKind = builder.enumType('ChangedAccessKind', {
  description: 'The kind of an object of the access control.',
  values: {
    ACCOUNT: { value: 'username', description: 'An account, by its user name.' },
    GROUP: { value: 'groupName', description: 'A group of accounts.' },
    ROLE: { value: 'roleName', description: 'A role with its rules.' },
  } as const,
});

const AccessChangesType = builder.objectRef<ShownChanges>('AccessChanges').implement({
  description:
    'What this service changed in the access control of a broker since a time. If it changed nothing, the current access control also holds for that time, except for changes by other clients of the broker and in its files, which are not recorded.',
  fields: (t) => ({
    changes: t.field({
      description: 'The entries of the audit, the newest first. New passwords of accounts are omitted.',
      type: [AuditEvent],
      resolve: ({ changes, first }) => changes.slice(0, first),
    }),
    changeCount: t.int({
      description: `Number of all changes, at most ${MAX_CHANGES}.`,
      resolve: ({ changes }) => changes.length,
    }),
    previous: t.field({
      description: 'The last change before that time. `null` if none is recorded.',
      type: AuditEvent,
      nullable: true,
      resolve: ({ previous }) => previous,
    }),
    knownSince: t.expose('knownSince', {
      description: 'Since when changes are recorded: the beginning of the audit, or the addition of the broker.',
      type: 'DateTime',
    }),
    isComplete: t.boolean({
      description: 'Whether all changes by this service since that time are recorded.',
      resolve: ({ knownSince, since }) => knownSince <= since,
    }),
    usernames: t.stringList({
      description: 'Accounts that were changed. The access of these accounts may have been different.',
      resolve: ({ usernames }) => [...usernames].sort(),
    }),
    groupNames: t.stringList({
      description: 'Groups that were changed. The access of accounts that are or were in them may have been different.',
      resolve: ({ groupNames }) => [...groupNames].sort(),
    }),
    roleNames: t.stringList({
      description: 'Roles that were changed. The access of accounts that have or had them may have been different.',
      resolve: ({ roleNames }) => [...roleNames].sort(),
    }),
    lastChanges: t.field({
      description:
        'The last change since that time of each of several objects of one kind, in their order. `null` if none is recorded.',
      type: [AuditEvent],
      nullable: { list: false, items: true },
      args: {
        kind: t.arg({ type: ChangedKind, required: true, description: 'The kind of the objects.' }),
        names: t.arg.stringList({ required: true, description: `Names of at most ${MAX_CHANGES} objects.` }),
      },
      complexity: ({ names }) => ({ field: 1, multiplier: Math.max(1, Math.min(names.length, MAX_CHANGES)) }),
      resolve: ({ lastChanges }, { kind, names }) => {
        if (names.length > MAX_CHANGES) throw invalid([{ path: 'names', reason: `at most ${MAX_CHANGES} names` }]);
        return names.map((name) => lastChanges.get(objectKey(kind, name)) ?? null);
      },
    }),
    concernsAll: t.exposeBoolean('concernsAll', {
      description:
        'Whether the access of every client may have been different: the default access, the group of anonymous clients or a cluster was changed, or an entry does not name all of its changes.',
    }),
  }),
});

builder.queryField('accessChanges', (t) =>
  t.field({
    description:
      'What this service changed in the access control of a broker since a time, to state who could do something then. Not for tokens that are restricted to brokers.',
    type: AccessChangesType,
    ...onBroker('ADMIN'),
    args: {
      brokerId: t.arg.id(BROKER_ID),
      since: t.arg({ type: 'DateTime', required: true, description: 'The time, in the past.' }),
      first: t.arg.int({
        required: true,
        defaultValue: 100,
        description: `Maximum number of entries, at most ${MAX_CHANGES}.`,
      }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, Math.min(first, MAX_CHANGES)) }),
    resolve: async (_root, { brokerId, since, first }, { services, viewer, db }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      requireWholeProject(requireSignedIn(viewer));
      if (since.getTime() > Date.now()) throw invalid([{ path: 'since', reason: 'must be in the past' }]);
      if (first < 1 || first > MAX_CHANGES)
        throw invalid([{ path: 'first', reason: `must be from 1 to ${MAX_CHANGES}` }]);
      const together = services.clusters.brokerIdsTogether(broker, viewer);
      return { ...(await readAccessChanges(db, { ...broker, together }, since)), since, first };
    },
  }),
);
