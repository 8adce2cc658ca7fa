import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import { capitalized } from '../../../platform/text/capitalized.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { AccessChange } from '../writing/access-change.ts';
import type { BlastRadius, ChangeReport, NodeReport } from '../writing/access-report.ts';
import type { ChangedObject } from './access-mutation.ts';
import { AccessGroup, AccessRole, Account } from './access-objects-schema.ts';
import { reportFields } from './access-report-schema.ts';
import { DefaultAcl } from './access-rules-schema.ts';
import type { AccessView } from './access-view.ts';

export interface Written extends ChangeReport {
  /** For the audit, as `before`. */
  readonly after: object;
  readonly broker: BrokerRecord;
  readonly change: AccessChange;
  readonly blastRadius: BlastRadius;
  readonly nodes?: readonly NodeReport[] | undefined;
}

type ObjectRef<T> = PothosSchemaTypes.ObjectRef<(typeof builder)['$inferSchemaTypes'], T>;
const accountName = (change: AccessChange) => ('username' in change ? change.username : '');

function groupName(change: AccessChange): string {
  if ('groupName' in change) return change.groupName;
  return 'group' in change ? change.group.name : '';
}

function roleName(change: AccessChange): string {
  if ('roleName' in change) return change.roleName;
  return 'role' in change ? change.role.name : '';
}

interface PayloadObject {
  readonly noun: string;
  readonly type: ObjectRef<object>;
  readonly find: (view: AccessView, change: AccessChange) => object | null;
}

const object = <T extends object>(
  noun: string,
  type: ObjectRef<T>,
  find: (view: AccessView, change: AccessChange) => T | null,
): PayloadObject => ({ noun, type: type as ObjectRef<object>, find });

const OBJECTS: Readonly<Record<ChangedObject, PayloadObject>> = {
  account: object('account', Account, (view, change) => view.account(accountName(change))),
  group: object('group', AccessGroup, (view, change) => view.group(groupName(change))),
  role: object('role', AccessRole, (view, change) => view.role(roleName(change))),
  defaultAcl: object('default ACL', DefaultAcl, (view) => view),
};

const objectField = (t: OutputFields<Written>, { noun, type, find }: PayloadObject) =>
  t.field({
    description: `The ${noun} after the change. null: it does not exist.`,
    type,
    nullable: true,
    resolve: async ({ broker, change }, _args, { services }) => find(await services.accessControl.view(broker), change),
  });

/** By the name of the mutation. */
const DELETED = {
  deleteAccount: { field: 'deletedAccountId', kind: 'account', nameOf: accountName, ...OBJECTS.account },
  deleteAccessGroup: { field: 'deletedAccessGroupId', kind: 'accessGroup', nameOf: groupName, ...OBJECTS.group },
  deleteAccessRole: { field: 'deletedAccessRoleId', kind: 'accessRole', nameOf: roleName, ...OBJECTS.role },
} as const;
type Deleted = (typeof DELETED)[keyof typeof DELETED];

const deletedField = (t: OutputFields<Written>, { noun, kind, nameOf, find }: Deleted) =>
  t.id({
    description: `The id of the deleted ${noun}. null: it still exists, as after a dry run.`,
    nullable: true,
    resolve: async ({ broker, change }, _args, { services }) => {
      const view = await services.accessControl.view(broker);
      return find(view, change) === null ? namedNodeId({ kind, brokerId: broker.id, name: nameOf(change) }) : null;
    },
  });

const deletedBy = (mutation: string): Deleted | undefined =>
  Object.hasOwn(DELETED, mutation) ? DELETED[mutation as keyof typeof DELETED] : undefined;

/** The payload type of a mutation: the changed objects, or the id of a deleted one, and the report of the change. */
export function createPayload(mutation: string, objects: readonly ChangedObject[]) {
  const deleted = deletedBy(mutation);
  return builder.objectRef<Written>(`${capitalized(mutation)}Payload`).implement({
    ...withBroker,
    description: `The outcome of \`${mutation}\`.`,
    fields: (t) => ({
      ...(deleted === undefined
        ? Object.fromEntries(objects.map((name) => [name, objectField(t, OBJECTS[name])]))
        : { [deleted.field]: deletedField(t, deleted) }),
      ...reportFields(t),
    }),
  });
}
