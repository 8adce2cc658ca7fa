import type { RequestContext } from '../../gateway/context.ts';
import { builder, open, person, rootAdmin } from '../../gateway/graphql/builder.ts';
import type { OpenedSession } from '../../platform/auth/sessions.ts';
import { requirePerson, requireSignedIn } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { UserPayload } from '../users/user-schema.ts';

const LoginInput = builder.inputType('LoginInput', {
  fields: (t) => ({
    email: t.string({
      required: true,
      description: 'Or the name that the directory knows the person by.',
      // People type their password here. What account it was is recorded where there is one.
      extensions: { secret: true },
    }),
    password: t.string({ required: true }),
    code: t.string({
      description: 'Of the second factor: what the authenticator app shows, or a recovery code. Each is taken once.',
    }),
  }),
});

export const LoginPayload = builder.objectRef<OpenedSession>('LoginPayload').implement({
  fields: (t) => ({
    token: t.exposeString('token', { description: 'To be sent as "Authorization: Bearer <token>". Shown once.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Moves forward with use.' }),
    user: t.prismaField({
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
  }),
});

/** From here on the request is the person's: the payload shows what they see of themselves. */
export async function signedInAs(context: RequestContext, opened: OpenedSession): Promise<OpenedSession> {
  context.viewer = await context.services.auth.viewerOfSecret(opened.token, context.address);
  return opened;
}

const LogoutPayload = builder.objectRef<{ readonly loggedOut: boolean }>('LogoutPayload').implement({
  fields: (t) => ({ loggedOut: t.exposeBoolean('loggedOut') }),
});

const UnlockUserInput = builder.inputType('UnlockUserInput', {
  description: 'Whose waits to end.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Of the person.' }) }),
});

const ChangePasswordInput = builder.inputType('ChangePasswordInput', {
  fields: (t) => ({
    currentPassword: t.string({ required: true }),
    newPassword: t.string({ required: true, description: 'At least 8 characters.' }),
    code: t.string({
      description:
        'Of the second factor: what the authenticator app shows, or a recovery code. Required if the person has one.',
    }),
  }),
});

builder.mutationFields((t) => ({
  login: t.field({
    description:
      'Opens a session. A wrong address and a wrong password look the same; guessing is slowed down. SECOND_FACTOR_REQUIRED: send the code, too.',
    type: LoginPayload,
    ...open,
    args: { input: t.arg({ type: LoginInput, required: true }) },
    resolve: async (_root, { input }, context) =>
      signedInAs(context, await context.services.auth.login(input, context.address)),
  }),
  logout: t.field({
    description: 'Ends the session that this request was sent with.',
    type: LogoutPayload,
    ...person,
    resolve: async (_root, _args, { services, viewer }) => {
      await services.auth.logout(requireSignedIn(viewer));
      return { loggedOut: true };
    },
  }),
  unlockUser: t.field({
    description:
      'Ends the waits of a person after failed log-ins, in all processes. A network that failed too often still waits.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: UnlockUserInput, required: true, description: 'Whose.' }) },
    resolve: async (_root, { input: { userId } }, { services }) => {
      await services.auth.unlock(userId);
      return { userId };
    },
  }),
  changePassword: t.field({
    description:
      'Sets the own password and ends all other sessions. SECOND_FACTOR_REQUIRED: send the code as well. A wrong password or code is NOT_ALLOWED.',
    type: UserPayload,
    ...person,
    args: { input: t.arg({ type: ChangePasswordInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer, address }) => {
      const { id, credentialId } = requirePerson(viewer);
      const credentials = { password: input.currentPassword, code: input.code };
      if (!(await services.auth.passwords.confirm(id, credentials, address, { isCodeRequired: true }))) {
        throw new ServiceError('NOT_ALLOWED', 'The current password or the code is wrong');
      }
      await services.users.setPassword(id, input.newPassword, credentialId);
      return { userId: id };
    },
  }),
}));
