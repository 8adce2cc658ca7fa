import { builder, open, rootAdmin } from '../../gateway/graphql/builder.ts';
import { inputArgument } from '../../gateway/graphql/payloads.ts';
import type { Invitation } from '../../platform/auth/invitations.ts';
import { User } from '../users/user-schema.ts';
import { loginPayload, signedInAs } from './login-schema.ts';

builder.prismaObjectFields(User, (t) => ({
  isSecondFactorRequired: t.exposeBoolean('needsTotp', {
    description:
      'Whether the user has no roles until a second factor is set up. Not for users of an external provider.',
    nullable: true,
    ...rootAdmin,
  }),
  invitedUntil: t.expose('invitedUntil', {
    description: 'When the unused invitation of the user expires. null: there is none.',
    type: 'DateTime',
    nullable: true,
    ...rootAdmin,
  }),
}));

const InviteUserInput = builder.inputType('InviteUserInput', {
  description: 'The user to invite.',
  fields: (t) => ({
    email: t.string({ required: true, description: 'E-mail address, stored in lower case.' }),
    name: t.string({ description: 'Default: the part of the address before the `@`.' }),
    isSecondFactorRequired: t.boolean({
      description: 'Whether the user has no roles until a second factor is set up. Default: false.',
    }),
  }),
});

const InviteUserPayload = builder.objectRef<Invitation & { readonly userId: string }>('InviteUserPayload').implement({
  description: 'The invitation.',
  fields: (t) => ({
    user: t.prismaField({
      description: 'The invited user.',
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
    secret: t.exposeString('secret', {
      description: 'For `acceptInvitation`. The console accepts it at `/#/invitation/…`. It is returned only once.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it can be accepted.' }),
  }),
});

const AcceptInvitationInput = builder.inputType('AcceptInvitationInput', {
  description: 'The invitation and the first password.',
  fields: (t) => ({
    secret: t.string({
      required: true,
      description: 'The secret of the invitation.',
      extensions: { secret: true },
    }),
    password: t.string({ required: true, description: 'At least 8 characters.' }),
  }),
});

builder.mutationFields((t) => ({
  inviteUser: t.field({
    description:
      'Creates an account without a password, and a secret that sets it once, within 7 days. For a user who has no password yet it replaces the previous invitation. ALREADY_EXISTS if the user can sign in already.',
    type: InviteUserPayload,
    ...rootAdmin,
    args: inputArgument(InviteUserInput, 'The user.'),
    resolve: async (_root, { input: { email, name, isSecondFactorRequired } }, { services: { auth, users } }) => {
      auth.invitations.requirePasswords();
      const { id } = (await users.findByEmail(email)) ?? (await users.create({ email, name }));
      return { userId: id, ...(await auth.invitations.create(id, isSecondFactorRequired ?? false)) };
    },
  }),
  acceptInvitation: t.field({
    description:
      'Sets the first password of an invited user and opens a session. Guessing is throttled. UNAUTHORIZED if the invitation is unknown, expired or was used.',
    type: loginPayload('acceptInvitation'),
    ...open,
    args: inputArgument(AcceptInvitationInput, 'The invitation and the password.'),
    resolve: async (_root, { input: { secret, password } }, context) =>
      signedInAs(context, await context.services.auth.invitations.accept(secret, password, context.address)),
  }),
}));
