import { builder, person, rootAdmin, signedIn } from '../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { idPayload, inputArgument, payloadsWith } from '../../gateway/graphql/payloads.ts';
import { requirePerson, requireSignedIn } from '../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../platform/errors.ts';
import { ViewerType } from '../users/viewer-schema.ts';

const Session = builder.prismaObject('Session', {
  description: 'A session of a user, opened by a log-in.',
  interfaces: [Node],
  select: { id: true },
  fields: (t) => ({
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the user signed in.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      description: 'Time of the last use, accurate to one minute.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the session expires. Each use extends it.',
    }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'External provider of the sign-in: "sso", "ldap", or null for a local password.',
    }),
    address: t.exposeString('address', {
      nullable: true,
      description: 'Network address from which the user signed in.',
    }),
    isCurrent: t.boolean({
      description: 'Whether this is the session of the request.',
      resolve: ({ id }, _args, { viewer }) => viewer?.credentialId === id,
    }),
  }),
});

findsNode('session', async (id, { services, viewer }) => {
  const session = await services.auth.sessions.find(id);
  if (session !== null && !viewer?.isRootAdmin && viewer?.id !== session.userId) throw new OutOfSight('session', id);
  return session;
});

builder.objectFields(ViewerType, (t) => ({
  sessions: t.prismaField({
    description: 'The sessions of the caller, most recently used first. Empty for tokens.',
    type: [Session],
    resolve: (query, { id }, _args, { services }) => services.auth.sessions.of(id, query),
  }),
}));

builder.queryFields((t) => ({
  userSessions: t.prismaField({
    description: 'The sessions of a user, most recently used first.',
    type: [Session],
    ...rootAdmin,
    args: { userId: t.arg.id({ required: true, description: 'Id of the user.' }) },
    resolve: (query, _root, { userId }, { services }) => services.auth.sessions.of(userId, query),
  }),
}));

const EndSessionInput = builder.inputType('EndSessionInput', {
  description: 'The session to end.',
  fields: (t) => ({ sessionId: t.id({ required: true, description: 'Id of the session.' }) }),
});
const EndSessionPayload = idPayload('endSession', 'endedSessionId', 'The ended session.', 'Id of the ended session.');

const EndUserSessionsInput = builder.inputType('EndUserSessionsInput', {
  description: 'The user whose sessions end.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Id of the user.' }) }),
});
const endSessionsPayload = payloadsWith<{ readonly count: number }>({
  description: 'The ended sessions.',
  fields: (t) => ({ count: t.exposeInt('count', { description: 'Number of ended sessions.' }) }),
});

builder.mutationFields((t) => ({
  endSession: t.field({
    description:
      'Ends a session and its subscriptions. Root administrators may end all sessions, other users their own.',
    type: EndSessionPayload,
    ...signedIn,
    args: inputArgument(EndSessionInput, 'The session.'),
    resolve: async (_root, { input: { sessionId } }, { services, viewer }) => {
      const { id, isRootAdmin } = requireSignedIn(viewer);
      if (!(await services.auth.sessions.end(sessionId, isRootAdmin ? undefined : id))) {
        throw notFound('session', sessionId);
      }
      return { endedSessionId: sessionId };
    },
  }),
  endOtherSessions: t.field({
    description: 'Ends all sessions of the caller except that of this request.',
    type: endSessionsPayload('endOtherSessions'),
    ...person,
    resolve: async (_root, _args, { services, viewer }) => {
      const { id, credentialId } = requirePerson(viewer);
      return { count: await services.auth.sessions.endAll(id, credentialId) };
    },
  }),
  endUserSessions: t.field({
    description: 'Ends all sessions of a user.',
    type: endSessionsPayload('endUserSessions'),
    ...rootAdmin,
    args: inputArgument(EndUserSessionsInput, 'The user.'),
    resolve: async (_root, { input: { userId } }, { services, db }) => {
      if ((await db.user.count({ where: { id: userId } })) === 0) throw notFound('user', userId);
      return { count: await services.auth.sessions.endAll(userId) };
    },
  }),
}));
