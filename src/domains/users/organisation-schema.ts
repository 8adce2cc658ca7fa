import { builder, person, signedIn } from '../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { OutOfSight } from '../../platform/errors.ts';

const OrganisationRole = builder.enumType('OrganisationRole', {
  description: 'An OWNER has the role ADMIN in the projects of the organisation, a MEMBER the role VIEWER.',
  values: ['OWNER', 'MEMBER'] as const,
});

builder.prismaObject('OrganisationMember', {
  select: { organisationId: true },
  fields: (t) => ({
    user: t.relation('user'),
    role: t.expose('role', { type: OrganisationRole }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

builder.prismaObject('Organisation', {
  description: 'A group of users that owns projects.',
  interfaces: [Node],
  select: { id: true },
  fields: (t) => ({
    name: t.exposeString('name'),
    members: t.relatedConnection(
      'members',
      { cursor: 'organisationId_userId', totalCount: true },
      { name: 'OrganisationMemberConnection' },
      { name: 'OrganisationMemberEdge' },
    ),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
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
  fields: (t) => ({ name: t.string({ required: true }) }),
});
const OrganisationPayload = builder.objectRef<{ readonly organisationId: string }>('OrganisationPayload').implement({
  fields: (t) => ({
    organisation: t.prismaField({
      type: 'Organisation',
      resolve: (query, { organisationId }, _args, { db }) =>
        db.organisation.findUniqueOrThrow({ ...query, where: { id: organisationId } }),
    }),
  }),
});
const SetOrganisationMemberInput = builder.inputType('SetOrganisationMemberInput', {
  fields: (t) => ({
    organisationId: t.id({ required: true }),
    email: t.string({ required: true }),
    role: t.field({ type: OrganisationRole, required: true }),
  }),
});
const RemoveOrganisationMemberInput = builder.inputType('RemoveOrganisationMemberInput', {
  fields: (t) => ({ organisationId: t.id({ required: true }), email: t.string({ required: true }) }),
});
const DeleteOrganisationInput = builder.inputType('DeleteOrganisationInput', {
  fields: (t) => ({ organisationId: t.id({ required: true }) }),
});
const DeleteOrganisationPayload = builder
  .objectRef<{ readonly deletedOrganisationId: string }>('DeleteOrganisationPayload')
  .implement({ fields: (t) => ({ deletedOrganisationId: t.exposeID('deletedOrganisationId') }) });

builder.queryFields((t) => ({
  organisations: t.prismaConnection(
    {
      description: 'The organisations of the caller; for a root administrator all organisations.',
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
    { name: 'OrganisationConnection' },
    { name: 'OrganisationEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createOrganisation: t.field({
    description: 'Creates an organisation. The caller becomes the first owner.',
    type: OrganisationPayload,
    ...person,
    args: { input: t.arg({ type: CreateOrganisationInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      organisationId: (await services.organisations.create(input.name, viewer)).id,
    }),
  }),
  setOrganisationMember: t.field({
    description: 'Adds a member or changes the role of a member. Requires an owner of the organisation.',
    type: OrganisationPayload,
    ...signedIn,
    args: { input: t.arg({ type: SetOrganisationMemberInput, required: true }) },
    resolve: async (_root, { input: { organisationId, email, role } }, { services, viewer }) => {
      await services.organisations.setMember(organisationId, email, role, viewer);
      return { organisationId };
    },
  }),
  removeOrganisationMember: t.field({
    description: 'Removes a member. Requires an owner of the organisation. The last owner cannot be removed (IN_USE).',
    type: OrganisationPayload,
    ...signedIn,
    args: { input: t.arg({ type: RemoveOrganisationMemberInput, required: true }) },
    resolve: async (_root, { input: { organisationId, email } }, { services, viewer }) => {
      await services.organisations.removeMember(organisationId, email, viewer);
      return { organisationId };
    },
  }),
  deleteOrganisation: t.field({
    description: 'Requires an owner of the organisation. Refused while the organisation owns projects (IN_USE).',
    type: DeleteOrganisationPayload,
    ...signedIn,
    args: { input: t.arg({ type: DeleteOrganisationInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.organisations.remove(input.organisationId, viewer);
      return { deletedOrganisationId: input.organisationId };
    },
  }),
}));
