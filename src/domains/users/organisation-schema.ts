import { builder, person, signedIn } from '../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { OutOfSight } from '../../platform/errors.ts';
import { USER_EMAIL } from './user-schema.ts';

const OrganisationRole = builder.enumType('OrganisationRole', {
  description: 'A role in an organisation, from which the role in its projects follows.',
  values: {
    OWNER: {
      description:
        'Changes the members, creates projects for the organisation, and has the role ADMIN in the projects of the organisation.',
    },
    MEMBER: { description: 'Has the role VIEWER in the projects of the organisation.' },
  } as const,
});

const ORGANISATION_ID = 'Id of the organisation: `org_…`.';
const NAME = 'Name of the organisation: 1 to 200 characters. It is unique.';

builder.prismaObject('OrganisationMember', {
  description: 'A user with a role in an organisation.',
  select: { organisationId: true },
  fields: (t) => ({
    user: t.relation('user', { description: 'The account of the member.' }),
    role: t.expose('role', { description: 'Role of the member in the organisation.', type: OrganisationRole }),
    createdAt: t.expose('createdAt', { description: 'Time at which the member was added.', type: 'DateTime' }),
  }),
});

const PAGE_SIZE = 'A page has at most 100 entries. Default: 20.';

builder.prismaObject('Organisation', {
  description: 'A group of users that owns projects.',
  interfaces: [Node],
  select: { id: true },
  fields: (t) => ({
    name: t.exposeString('name', { description: NAME }),
    members: t.relatedConnection(
      'members',
      {
        description: `The members of the organisation. ${PAGE_SIZE}`,
        cursor: 'organisationId_userId',
        totalCount: true,
      },
      {
        name: 'OrganisationMemberConnection',
        description: 'A page of the members of an organisation.',
        fields: (connection) => ({ totalCount: totalCount(connection, 'Number of members on all pages.') }),
      },
      { name: 'OrganisationMemberEdge' },
    ),
    createdAt: t.expose('createdAt', { description: 'Time at which the organisation was created.', type: 'DateTime' }),
  }),
});

findsNode('organisation', async (id, { db, services, viewer }) => {
  const where = { id, ...services.organisations.visibleWhere(viewer) };
  const organisation = await db.organisation.findFirst({ where });
  if (organisation === null && (await db.organisation.count({ where: { id } })) > 0) {
    throw new OutOfSight('organisation', id);
  }
  return organisation;
});

const CreateOrganisationInput = builder.inputType('CreateOrganisationInput', {
  description: 'A new organisation.',
  fields: (t) => ({ name: t.string({ required: true, description: NAME }) }),
});
const OrganisationPayload = builder.objectRef<{ readonly organisationId: string }>('OrganisationPayload').implement({
  description: 'The organisation that was created or changed.',
  fields: (t) => ({
    organisation: t.prismaField({
      description: 'The organisation after the change.',
      type: 'Organisation',
      resolve: (query, { organisationId }, _args, { db }) =>
        db.organisation.findUniqueOrThrow({ ...query, where: { id: organisationId } }),
    }),
  }),
});
const SetOrganisationMemberInput = builder.inputType('SetOrganisationMemberInput', {
  description: 'A user and the role in the organisation.',
  fields: (t) => ({
    organisationId: t.id({ required: true, description: ORGANISATION_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
    role: t.field({
      type: OrganisationRole,
      required: true,
      description: 'It replaces the previous role of a member. IN_USE if no owner would remain.',
    }),
  }),
});
const RemoveOrganisationMemberInput = builder.inputType('RemoveOrganisationMemberInput', {
  description: 'The member to remove.',
  fields: (t) => ({
    organisationId: t.id({ required: true, description: ORGANISATION_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
  }),
});
const DeleteOrganisationInput = builder.inputType('DeleteOrganisationInput', {
  description: 'The organisation to delete.',
  fields: (t) => ({ organisationId: t.id({ required: true, description: ORGANISATION_ID }) }),
});
const DeleteOrganisationPayload = builder
  .objectRef<{ readonly deletedOrganisationId: string }>('DeleteOrganisationPayload')
  .implement({
    description: 'The organisation that was deleted.',
    fields: (t) => ({
      deletedOrganisationId: t.exposeID('deletedOrganisationId', { description: 'Id of the deleted organisation.' }),
    }),
  });

builder.queryFields((t) => ({
  organisations: t.prismaConnection(
    {
      description: `The organisations of the caller; for a root administrator all organisations. ${PAGE_SIZE}`,
      type: 'Organisation',
      cursor: 'id',
      ...signedIn,
      resolve: (query, _root, _args, { db, services, viewer }) =>
        db.organisation.findMany({
          ...query,
          where: services.organisations.visibleWhere(viewer),
          orderBy: { id: 'asc' },
        }),
      totalCount: (_root, _args, { db, services, viewer }) =>
        db.organisation.count({ where: services.organisations.visibleWhere(viewer) }),
    },
    {
      name: 'OrganisationConnection',
      description: 'A page of organisations.',
      fields: (connection) => ({
        totalCount: totalCount(connection, 'Number of organisations that the caller may see, on all pages.'),
      }),
    },
    { name: 'OrganisationEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createOrganisation: t.field({
    description: 'Creates an organisation. The caller becomes the first owner.',
    type: OrganisationPayload,
    ...person,
    args: { input: t.arg({ type: CreateOrganisationInput, required: true, description: 'The new organisation.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      organisationId: (await services.organisations.create(input.name, viewer)).id,
    }),
  }),
  setOrganisationMember: t.field({
    description: 'Adds a member or changes the role of a member. Requires an owner of the organisation.',
    type: OrganisationPayload,
    ...signedIn,
    args: { input: t.arg({ type: SetOrganisationMemberInput, required: true, description: 'The user and the role.' }) },
    resolve: async (_root, { input: { organisationId, email, role } }, { services, viewer }) => {
      await services.organisations.setMember(organisationId, email, role, viewer);
      return { organisationId };
    },
  }),
  removeOrganisationMember: t.field({
    description: 'Removes a member. Requires an owner of the organisation. The last owner cannot be removed (IN_USE).',
    type: OrganisationPayload,
    ...signedIn,
    args: {
      input: t.arg({ type: RemoveOrganisationMemberInput, required: true, description: 'The member to remove.' }),
    },
    resolve: async (_root, { input: { organisationId, email } }, { services, viewer }) => {
      await services.organisations.removeMember(organisationId, email, viewer);
      return { organisationId };
    },
  }),
  deleteOrganisation: t.field({
    description: 'Requires an owner of the organisation. Refused while the organisation owns projects (IN_USE).',
    type: DeleteOrganisationPayload,
    ...signedIn,
    args: {
      input: t.arg({ type: DeleteOrganisationInput, required: true, description: 'The organisation to delete.' }),
    },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.organisations.remove(input.organisationId, viewer);
      return { deletedOrganisationId: input.organisationId };
    },
  }),
}));
