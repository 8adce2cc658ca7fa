import { builder, person, signedIn } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { idPayload, inputArgument, payloadsWith } from '../../gateway/graphql/payloads.ts';
import {
  type RowList,
  relatedRows,
  rowConnection,
  rowPage,
  SHORT_PAGES,
} from '../../gateway/graphql/row-connection.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { OutOfSight } from '../../platform/errors.ts';
import { USER_EMAIL } from './user-schema.ts';

const OrganizationRole = describedEnum(
  'OrganizationRole',
  'A role in an organization, from which the role in its projects follows.',
  {
    OWNER:
      'Changes the members, creates projects for the organization, and has the role ADMIN in the projects of the organization.',
    MEMBER: 'Has the role VIEWER in the projects of the organization.',
  },
);

const ORGANIZATION_ID = 'Id of the organization: `org_…`.';
const NAME = 'Name of the organization: 1 to 200 characters. It is unique.';

const OrganizationMember = builder.prismaObject('OrganizationMember', {
  description: 'A user with a role in an organization.',
  select: { organizationId: true },
  fields: (t) => ({
    user: t.relation('user', { description: 'The account of the member.' }),
    role: t.expose('role', { description: 'Role of the member in the organization.', type: OrganizationRole }),
    createdAt: t.expose('createdAt', { description: 'Time at which the member was added.', type: 'DateTime' }),
  }),
});

const PAGE_SIZE = 'A page has at most 100 entries. Default: 20.';
const ORGANIZATIONS: RowList = { kind: 'Organization', key: 'id', direction: 'asc', pageSize: SHORT_PAGES };
const MEMBERS: RowList = { kind: 'OrganizationMember', key: 'userId', direction: 'asc', pageSize: SHORT_PAGES };

const Organization = builder.prismaObject('Organization', {
  description: 'A group of users that owns projects.',
  interfaces: [Node],
  select: { id: true },
  fields: (t) => ({
    name: t.exposeString('name', { description: NAME }),
    members: t.connection(
      {
        description: `The members of the organization. ${PAGE_SIZE}`,
        type: OrganizationMember,
        select: (args, _context, nested) => ({
          members: relatedRows(MEMBERS, args, nested),
          _count: { select: { members: true } },
        }),
        resolve: ({ members, _count }, args) => rowPage(MEMBERS, args, members, _count.members),
      },
      {
        name: 'OrganizationMemberConnection',
        description: 'A page of the members of an organization.',
        fields: (page) => totalCount(page, 'Number of members on all pages.'),
      },
      { name: 'OrganizationMemberEdge' },
    ),
    createdAt: t.expose('createdAt', { description: 'Time at which the organization was created.', type: 'DateTime' }),
  }),
});

findsNode('organization', async (id, { db, services, viewer }) => {
  const where = { id, ...services.organizations.visibleWhere(viewer) };
  const organization = await db.organization.findFirst({ where });
  if (organization === null && (await db.organization.count({ where: { id } })) > 0) {
    throw new OutOfSight('organization', id);
  }
  return organization;
});

const CreateOrganizationInput = builder.inputType('CreateOrganizationInput', {
  description: 'A new organization.',
  fields: (t) => ({ name: t.string({ required: true, description: NAME }) }),
});
const organizationPayload = payloadsWith<{ readonly organizationId: string }>({
  description: 'The organization that was created or changed.',
  fields: (t) => ({
    organization: t.prismaField({
      description: 'The organization after the change.',
      type: 'Organization',
      resolve: (query, { organizationId }, _args, { db }) =>
        db.organization.findUniqueOrThrow({ ...query, where: { id: organizationId } }),
    }),
  }),
});
const SetOrganizationMemberInput = builder.inputType('SetOrganizationMemberInput', {
  description: 'A user and the role in the organization.',
  fields: (t) => ({
    organizationId: t.id({ required: true, description: ORGANIZATION_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
    role: t.field({
      type: OrganizationRole,
      required: true,
      description: 'It replaces the previous role of a member. IN_USE if no owner would remain.',
    }),
  }),
});
const RemoveOrganizationMemberInput = builder.inputType('RemoveOrganizationMemberInput', {
  description: 'The member to remove.',
  fields: (t) => ({
    organizationId: t.id({ required: true, description: ORGANIZATION_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
  }),
});
const DeleteOrganizationInput = builder.inputType('DeleteOrganizationInput', {
  description: 'The organization to delete.',
  fields: (t) => ({ organizationId: t.id({ required: true, description: ORGANIZATION_ID }) }),
});
const DeleteOrganizationPayload = idPayload(
  'deleteOrganization',
  'deletedOrganizationId',
  'The organization that was deleted.',
  'Id of the deleted organization.',
);

builder.queryFields((t) => ({
  organizations: t.connection(
    {
      description: `The organizations of the caller; for a root administrator all organizations. ${PAGE_SIZE}`,
      type: Organization,
      ...signedIn,
      resolve: (_root, args, context, info) => {
        const { db, services, viewer } = context;
        const visible = services.organizations.visibleWhere(viewer);
        return rowConnection(ORGANIZATIONS, args, context, info, {
          find: ({ where, ...query }) => db.organization.findMany({ ...query, where: { AND: [visible, where] } }),
          count: () => db.organization.count({ where: visible }),
        });
      },
    },
    {
      name: 'OrganizationConnection',
      description: 'A page of organizations.',
      fields: (page) => totalCount(page, 'Number of organizations that the caller may see, on all pages.'),
    },
    { name: 'OrganizationEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createOrganization: t.field({
    description: 'Creates an organization. The caller becomes the first owner.',
    type: organizationPayload('createOrganization'),
    ...person,
    args: inputArgument(CreateOrganizationInput, 'The new organization.'),
    resolve: async (_root, { input }, { services, viewer }) => ({
      organizationId: (await services.organizations.create(input.name, viewer)).id,
    }),
  }),
  setOrganizationMember: t.field({
    description: 'Adds a member or changes the role of a member. Requires an owner of the organization.',
    type: organizationPayload('setOrganizationMember'),
    ...signedIn,
    args: inputArgument(SetOrganizationMemberInput, 'The user and the role.'),
    resolve: async (_root, { input: { organizationId, email, role } }, { services, viewer }) => {
      await services.organizations.setMember(organizationId, email, role, viewer);
      return { organizationId };
    },
  }),
  removeOrganizationMember: t.field({
    description: 'Removes a member. Requires an owner of the organization. The last owner cannot be removed (IN_USE).',
    type: organizationPayload('removeOrganizationMember'),
    ...signedIn,
    args: inputArgument(RemoveOrganizationMemberInput, 'The member to remove.'),
    resolve: async (_root, { input: { organizationId, email } }, { services, viewer }) => {
      await services.organizations.removeMember(organizationId, email, viewer);
      return { organizationId };
    },
  }),
  deleteOrganization: t.field({
    description: 'Requires an owner of the organization. Refused while the organization owns projects (IN_USE).',
    type: DeleteOrganizationPayload,
    ...signedIn,
    args: inputArgument(DeleteOrganizationInput, 'The organization to delete.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.organizations.remove(input.organizationId, viewer);
      return { deletedOrganizationId: input.organizationId };
    },
  }),
}));
