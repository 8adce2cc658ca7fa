import { builder, known } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { requireKnown, type Viewer } from '../../platform/auth/viewer.ts';

const ViewerKind = describedEnum('ViewerKind', 'How the caller of a request is authenticated.', {
  USER: 'A user with a session.',
  TOKEN: 'A program with a token of a project.',
  OPERATOR: 'The operator at the command line of the service.',
});

export const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The caller: a signed-in user, a project token, or the operator at the command line.',
  fields: (t) => ({
    actorId: t.exposeID('id', { description: 'The id of the user or of the token, as in the audit.' }),
    kind: t.expose('kind', { description: 'Whether the caller is a user, a token or the operator.', type: ViewerKind }),
    name: t.exposeString('name', { description: 'E-mail address of the user, or name of the token.' }),
    email: t.string({
      description: 'E-mail address of the user. Null for a token and the operator.',
      nullable: true,
      resolve: ({ kind, name }) => (kind === 'USER' ? name : null),
    }),
    isRootAdmin: t.exposeBoolean('isRootAdmin', {
      description: 'Whether the caller may do everything and has the role ADMIN in every project.',
    }),
    isSecondFactorMissing: t.boolean({
      description:
        'Whether the account requires a second factor that is not set up. The caller then has no roles, and may only set it up or log out.',
      resolve: ({ isSecondFactorMissing = false }) => isSecondFactorMissing,
    }),
    expiresAt: t.field({
      description: 'When the session or the token expires, or null if it does not expire.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ expiresAt }) => (Number.isFinite(expiresAt) ? new Date(expiresAt) : null),
    }),
    user: t.prismaField({
      description: 'The account of the user. Null for a token and the operator.',
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
    ...known,
    resolve: (_root, _args, { viewer }) => requireKnown(viewer),
  }),
}));
