import { builder, signedIn } from '../../gateway/graphql/builder.ts';
import { requireSignedIn, type Viewer } from '../../platform/auth/viewer.ts';

const ViewerKind = builder.enumType('ViewerKind', { values: ['USER', 'TOKEN', 'OPERATOR'] as const });

export const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The caller: a person who signed in, or a project token.',
  fields: (t) => ({
    id: t.exposeID('id'),
    kind: t.expose('kind', { type: ViewerKind }),
    name: t.exposeString('name', { description: 'E-mail address of the person, or name of the token.' }),
    email: t.string({ nullable: true, resolve: ({ kind, name }) => (kind === 'USER' ? name : null) }),
    isRootAdmin: t.exposeBoolean('isRootAdmin'),
    expiresAt: t.field({
      description: 'When the session or the token ends; null: not by itself.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ expiresAt }) => (Number.isFinite(expiresAt) ? new Date(expiresAt) : null),
    }),
    user: t.prismaField({
      type: 'User',
      nullable: true,
      resolve: (query, { kind, id }, _args, { db }) => {
        // Also where nobody is asked for: Pothos takes a query that was not looked at for a bug.
        const person = { ...query, where: { id } };
        return kind === 'USER' ? db.user.findUnique(person) : null;
      },
    }),
  }),
});

builder.queryFields((t) => ({
  viewer: t.field({
    description: 'Who asks, and what they may do.',
    type: ViewerType,
    ...signedIn,
    resolve: (_root, _args, { viewer }) => requireSignedIn(viewer),
  }),
}));
