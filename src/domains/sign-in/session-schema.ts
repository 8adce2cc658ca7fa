import { builder, person, rootAdmin, signedIn } from '../../gateway/graphql/builder.ts';
import type { Session } from '../../generated/sqlite/client.ts';
import { requirePerson, requireSignedIn } from '../../platform/auth/viewer.ts';
import { notFound } from '../../platform/errors.ts';
import { ViewerType } from '../users/viewer-schema.ts';

const SessionType = builder.objectRef<Session>('Session').implement({
  description: 'One log-in of a person.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'To end it by.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the person signed in.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'To the minute.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Moves forward with use.' }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'Where the person signed in: "sso", "ldap", or null for here, with a password.',
    }),
    address: t.exposeString('address', { nullable: true, description: 'That the person signed in from.' }),
    isCurrent: t.boolean({
      description: 'The one that this request was sent with.',
      resolve: ({ id }, _args, { viewer }) => viewer?.credentialId === id,
    }),
  }),
});

builder.objectFields(ViewerType, (t) => ({
  sessions: t.field({
    description: 'The caller’s own, the one used last first. None of a token.',
    type: [SessionType],
    resolve: ({ kind, id }, _args, { services }) => (kind === 'USER' ? services.auth.sessions.of(id) : []),
  }),
}));

builder.queryFields((t) => ({
  userSessions: t.field({
    description: 'Of a person, the one used last first.',
    type: [SessionType],
    ...rootAdmin,
    args: { userId: t.arg.id({ required: true, description: 'Of the person.' }) },
    resolve: (_root, { userId }, { services }) => services.auth.sessions.of(userId),
  }),
}));

const EndSessionInput = builder.inputType('EndSessionInput', {
  description: 'Which one.',
  fields: (t) => ({ sessionId: t.id({ required: true, description: 'As the lists of sessions tell it.' }) }),
});
const EndSessionPayload = builder.objectRef<{ readonly endedSessionId: string }>('EndSessionPayload').implement({
  description: 'What has ended.',
  fields: (t) => ({ endedSessionId: t.exposeID('endedSessionId', { description: 'Of the session that is no more.' }) }),
});

const EndUserSessionsInput = builder.inputType('EndUserSessionsInput', {
  description: 'Whose.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Of the person who is signed out.' }) }),
});
const EndSessionsPayload = builder.objectRef<{ readonly count: number }>('EndSessionsPayload').implement({
  description: 'What has ended.',
  fields: (t) => ({ count: t.exposeInt('count', { description: 'Sessions that have ended.' }) }),
});

builder.mutationFields((t) => ({
  endSession: t.field({
    description: 'Ends a session of one’s own, or anybody’s for root administrators, with what is open over it.',
    type: EndSessionPayload,
    ...signedIn,
    args: { input: t.arg({ type: EndSessionInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input: { sessionId } }, { services, viewer }) => {
      const { id, isRootAdmin } = requireSignedIn(viewer);
      if (!(await services.auth.sessions.end(sessionId, isRootAdmin ? undefined : id))) {
        throw notFound('session', sessionId);
      }
      return { endedSessionId: sessionId };
    },
  }),
  endOtherSessions: t.field({
    description: 'Ends all own sessions but the one that this request was sent with.',
    type: EndSessionsPayload,
    ...person,
    resolve: async (_root, _args, { services, viewer }) => {
      const { id, credentialId } = requirePerson(viewer);
      return { count: await services.auth.sessions.endAll(id, credentialId) };
    },
  }),
  endUserSessions: t.field({
    description: 'Ends all sessions of a person.',
    type: EndSessionsPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: EndUserSessionsInput, required: true, description: 'Whose.' }) },
    resolve: async (_root, { input: { userId } }, { services, db }) => {
      if ((await db.user.count({ where: { id: userId } })) === 0) throw notFound('user', userId);
      return { count: await services.auth.sessions.endAll(userId) };
    },
  }),
}));
