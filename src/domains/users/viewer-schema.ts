import { builder, signedIn } from '../../gateway/graphql/builder.ts';
import { requireSignedIn, type Viewer } from '../../platform/auth/viewer.ts';

const ViewerKind = builder.enumType('ViewerKind', { values: ['USER', 'TOKEN', 'OPERATOR'] as const });

export const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The caller: a signed-in user, a project token, or the operator at the command line.',
  fields: (t) => ({
    actorId: t.exposeID('id', { description: 'The id of the user or of the token, as in the audit.' }),
    kind: t.expose('kind', { type: ViewerKind }),
    name: t.exposeString('name', { description: 'E-mail address of the user, or name of the token.' }),
    email: t.string({ nullable: true, resolve: ({ kind, name }) => (kind === 'USER' ? name : null) }),
    isRootAdmin: t.exposeBoolean('isRootAdmin'),
    expiresAt: t.field({
      description: 'When the session or the token expires, or null if it does not expire.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ expiresAt }) => (Number.isFinite(expiresAt) ? new Date(expiresAt) : null),
    }),
    user: t.prismaField({
      type: 'User',
      nullable: true,
      resolve: (query, { kind, id }, _args, { db }) => {
        // Read `query` in all cases: Pothos reports an unused query as an error.
        const user = { ...query, where: { id } };
        return kind === 'USER' ? db.user.findUnique(user) : null;
      },
    }),
  }),
});

builder.queryFields((t) => ({
  viewer: t.field({
    description: 'The caller of this request and its rights.',
    type: ViewerType,
    ...signedIn,
    resolve: (_root, _args, { viewer }) => requireSignedIn(viewer),
  }),
}));
