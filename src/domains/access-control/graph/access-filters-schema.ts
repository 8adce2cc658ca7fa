import { builder } from '../../../gateway/graphql/builder.ts';
import { FilterMode } from '../../clients/graph/client-lists-schema.ts';

const ClientFilterTarget = builder.enumType('AccessClientFilterTarget', {
  values: {
    USERNAME: { value: 'username' },
    CLIENT_ID: { value: 'clientid' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    ROLENAME: { value: 'rolename', description: 'The name of a role that the account holds directly.' },
    GROUPNAME: { value: 'groupname', description: 'The name of a group that the account belongs to.' },
  } as const,
});
const GroupFilterTarget = builder.enumType('AccessGroupFilterTarget', {
  values: {
    GROUPNAME: { value: 'groupname' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    ROLENAME: { value: 'rolename', description: 'The name of a role of the group.' },
    USERNAME: { value: 'username', description: 'The user name of a member.' },
  } as const,
});
const RoleFilterTarget = builder.enumType('AccessRoleFilterTarget', {
  values: {
    ROLENAME: { value: 'rolename' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    TOPIC: { value: 'topic', description: 'The topic of a rule of the role.' },
  } as const,
});

const filterInput = <Target extends string>(
  kind: 'Client' | 'Group' | 'Role',
  target: PothosSchemaTypes.EnumRef<(typeof builder)['$inferSchemaTypes'], Target>,
  defaultValue: NoInfer<Target>,
) =>
  builder.inputType(`Access${kind}Filter`, {
    description: 'Case-sensitive filter on one text of each entry.',
    fields: (t) => ({
      value: t.string({ required: true }),
      mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
      target: t.field({ type: target, defaultValue }),
    }),
  });
export const AccessClientFilter = filterInput('Client', ClientFilterTarget, 'username');
export const AccessGroupFilter = filterInput('Group', GroupFilterTarget, 'groupname');
export const AccessRoleFilter = filterInput('Role', RoleFilterTarget, 'rolename');
