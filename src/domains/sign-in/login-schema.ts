import type { RequestContext } from '../../gateway/context.ts';
import { account, builder, open, person, rootAdmin } from '../../gateway/graphql/builder.ts';
import { inputArgument, payloadsWith } from '../../gateway/graphql/payloads.ts';
import type { OpenedSession } from '../../platform/auth/sessions.ts';
import { requireKnown, requirePerson } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { userPayload } from '../users/user-schema.ts';
import type { SignInOffers } from './sign-in-service.ts';

const LoginInput = builder.inputType('LoginInput', {
  description: 'The credentials of a user.',
  fields: (t) => ({
    email: t.string({
      required: true,
      description: 'E-mail address, or the log-in name in the LDAP directory.',
      // Users type passwords into this field by mistake. The audit records the id of an existing account instead.
      extensions: { secret: true },
    }),
    password: t.string({ required: true, description: 'The local password, or the password in the LDAP directory.' }),
    code: t.string({
      description: 'Code of the authenticator app, or a recovery code. Each one is accepted once.',
    }),
  }),
});

export const loginPayload = payloadsWith<OpenedSession>({
  description: 'The opened session.',
  fields: (t) => ({
    token: t.exposeString('token', {
      description: 'Send it as "Authorization: Bearer <token>". It is returned only once.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the session expires. Each use extends it.',
    }),
    user: t.prismaField({
      description: 'The user who signed in.',
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
  }),
});

export async function signedInAs(context: RequestContext, opened: OpenedSession): Promise<OpenedSession> {
  context.viewer = await context.services.auth.viewerOfSecret(opened.token, context.address);
  return opened;
}

const LogoutPayload = builder.objectRef<{ readonly isLoggedOut: boolean }>('LogoutPayload').implement({
  description: 'The result of a log-out.',
  fields: (t) => ({
    isLoggedOut: t.exposeBoolean('isLoggedOut', { description: 'Always true: a failure is an error.' }),
  }),
});

const UnlockUserInput = builder.inputType('UnlockUserInput', {
  description: 'The user to unlock.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Id of the user.' }) }),
});

const ChangePasswordInput = builder.inputType('ChangePasswordInput', {
  description: 'The current password of the caller and the new one.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'The password that is valid until the change.' }),
    newPassword: t.string({ required: true, description: 'At least 8 characters.' }),
    code: t.string({
      description: 'Code of the authenticator app, or a recovery code. Required if the user has a second factor.',
    }),
  }),
});

const SignInOffersType = builder.objectRef<SignInOffers>('SignInOffers').implement({
  description: 'The available methods of signing in.',
  fields: (t) => ({
    hasLocal: t.exposeBoolean('local', {
      description: 'Whether local passwords are valid. If false, only the emergency administrator has one.',
    }),
    hasLdap: t.exposeBoolean('ldap', {
      description: 'Whether passwords of the LDAP directory are valid, with the mutation `login`.',
    }),
    hasOpenIdConnect: t.exposeBoolean('openIdConnect', {
      description: 'Whether users can sign in at the OpenID provider: send the browser to `/auth/oidc?returnTo=…`.',
    }),
  }),
});

const CompleteSignInInput = builder.inputType('CompleteSignInInput', {
  description: 'The result of a sign-in at the OpenID provider.',
  fields: (t) => ({
    code: t.string({
      required: true,
      description: 'The text after `#code=` in the address to which the browser returned. Valid once, within a minute.',
    }),
    verifier: t.string({
      description:
        'The verifier whose SHA-256, in base64url, was sent as `challenge`. Required if a challenge was sent.',
      extensions: { secret: true },
    }),
  }),
});

builder.queryFields((t) => ({
  signInOffers: t.field({
    description: 'The available methods of signing in. Public: clients need it before signing in.',
    type: SignInOffersType,
    ...open,
    resolve: (_root, _args, { services }) => services.signIn.offers,
  }),
}));

builder.mutationFields((t) => ({
  completeSignIn: t.field({
    description: 'Opens the session of a user who signed in at the OpenID provider.',
    type: loginPayload('completeSignIn'),
    ...open,
    args: inputArgument(CompleteSignInInput, 'The code of the sign-in.'),
    resolve: async (_root, { input }, context) =>
      signedInAs(context, await context.services.signIn.complete(input, context.address)),
  }),
  login: t.field({
    description:
      'Opens a session. A wrong address and a wrong password have the same error, and guessing is throttled. After SECOND_FACTOR_REQUIRED send the code, too.',
    type: loginPayload('login'),
    ...open,
    args: inputArgument(LoginInput, 'The credentials of the user.'),
    resolve: async (_root, { input }, context) =>
      signedInAs(context, await context.services.auth.passwords.login(input, context.address)),
  }),
  logout: t.field({
    description: 'Ends the session of this request.',
    type: LogoutPayload,
    ...account,
    resolve: async (_root, _args, { services, viewer }) => {
      await services.auth.logout(requireKnown(viewer));
      return { isLoggedOut: true };
    },
  }),
  unlockUser: t.field({
    description: 'Ends the waits of a user after failed log-ins, in all processes. Waits of networks remain.',
    type: userPayload('unlockUser'),
    ...rootAdmin,
    args: inputArgument(UnlockUserInput, 'The user.'),
    resolve: async (_root, { input: { userId } }, { services }) => {
      await services.auth.unlock(userId);
      return { userId };
    },
  }),
  changePassword: t.field({
    description:
      'Sets the own password and ends all other sessions. After SECOND_FACTOR_REQUIRED send the code, too. A wrong password or code is NOT_ALLOWED.',
    type: userPayload('changePassword'),
    ...person,
    args: inputArgument(ChangePasswordInput, 'The current and the new password.'),
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
