import { builder } from '../../../gateway/graphql/builder.ts';
import { orderInput } from '../../../gateway/graphql/sort-order.ts';
import { filterFields } from '../../clients/graph/client-filter-schema.ts';

const filterTarget = (noun: string) =>
  `The text of ${noun} that a filter compares. A missing text matches only an empty value.`;
const TEXTS = {
  TEXT_NAME: { value: 'textname', description: 'The display name.' },
  TEXT_DESCRIPTION: { value: 'textdescription', description: 'The note of an administrator.' },
} as const;

const AccountFilterTarget = builder.enumType('AccountFilterTarget', {
  description: filterTarget('an account'),
  values: {
    USERNAME: { value: 'username', description: 'The user name of the account.' },
    CLIENT_ID: { value: 'clientid', description: 'The only client id that may use the account.' },
    ...TEXTS,
    ROLE_NAME: { value: 'rolename', description: 'The name of a role that the account holds directly.' },
    GROUP_NAME: { value: 'groupname', description: 'The name of a group that the account belongs to.' },
  } as const,
});
const GroupFilterTarget = builder.enumType('AccessGroupFilterTarget', {
  description: filterTarget('a group'),
  values: {
    GROUP_NAME: { value: 'groupname', description: 'The name of the group.' },
    ...TEXTS,
    ROLE_NAME: { value: 'rolename', description: 'The name of a role of the group.' },
    USERNAME: { value: 'username', description: 'The user name of a member.' },
  } as const,
});
const RoleFilterTarget = builder.enumType('AccessRoleFilterTarget', {
  description: filterTarget('a role'),
  values: {
    ROLE_NAME: { value: 'rolename', description: 'The name of the role.' },
    ...TEXTS,
    TOPIC: { value: 'topic', description: 'The topic of a rule of the role.' },
  } as const,
});

const filterInput = <Target extends string>(
  kind: 'AccessGroup' | 'AccessRole',
  target: PothosSchemaTypes.EnumRef<(typeof builder)['$inferSchemaTypes'], Target>,
  defaultValue: NoInfer<Target>,
) =>
  builder.inputType(`${kind}Filter`, {
    description: 'Case-sensitive filter on one text of each entry.',
    fields: (t) => ({
      ...filterFields(t),
      target: t.field({ description: 'The text that is compared with `value`.', type: target, defaultValue }),
    }),
  });
export const AccountFilter = builder.inputType('AccountFilter', {
  description: 'Accounts that match all given conditions.',
  fields: (t) => ({
    ...filterFields(t),
    value: t.string({ description: 'Compared with the text `target`. Case-sensitive.' }),
    target: t.field({
      description: 'The text that is compared with `value`.',
      type: AccountFilterTarget,
      defaultValue: 'username' as const,
    }),
    search: t.string({
      description: 'Part of the user name, the client id, the display name or the note, in any case.',
    }),
    enabled: t.boolean({ description: 'Only enabled, or only disabled accounts.' }),
    groupName: t.string({ description: 'Only members of this group.' }),
    roleName: t.string({ description: 'Only accounts that hold this role directly.' }),
  }),
});
export const AccountOrder = orderInput(
  'AccountOrder',
  builder.enumType('AccountSortField', {
    description: 'Sort field of a list of accounts.',
    values: { USERNAME: { value: 'username', description: 'The user name (UTF-16 code units).' } } as const,
  }),
);
export const AccessGroupFilter = filterInput('AccessGroup', GroupFilterTarget, 'groupname');
export const AccessRoleFilter = filterInput('AccessRole', RoleFilterTarget, 'rolename');
