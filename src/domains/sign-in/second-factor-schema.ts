import { account, builder, person, rootAdmin } from '../../gateway/graphql/builder.ts';
import { inputArgument } from '../../gateway/graphql/payloads.ts';
import { requireAccount, requirePerson } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { User, userPayload } from '../users/user-schema.ts';
import { ViewerType } from '../users/viewer-schema.ts';

builder.prismaObjectFields(User, (t) => ({
  hasSecondFactor: t.boolean({
    description: 'Whether the user has a second factor. For the user and root administrators; null for others.',
    nullable: true,
    select: { id: true, totpSince: true },
    resolve: ({ id, totpSince }, _args, { viewer }) =>
      viewer?.isRootAdmin === true || viewer?.id === id ? totpSince !== null : null,
  }),
}));

builder.objectFields(ViewerType, (t) => ({
  recoveryCodesLeft: t.int({
    description: 'Number of unused recovery codes of the caller.',
    resolve: ({ kind, id }, _args, { services }) =>
      kind === 'USER' ? services.auth.secondFactors.recoveryCodesLeft(id) : 0,
  }),
}));

const BeginSecondFactorInput = builder.inputType('BeginSecondFactorInput', {
  description: 'Confirmation of the caller.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'Password of the caller.' }),
  }),
});
const BeginSecondFactorPayload = builder
  .objectRef<{ readonly secret: string; readonly url: string }>('BeginSecondFactorPayload')
  .implement({
    description: 'The secret for an authenticator app.',
    fields: (t) => ({
      secret: t.exposeString('secret', {
        description: 'The secret to type into an authenticator app. It is returned only once.',
      }),
      url: t.exposeString('url', { description: 'The secret as an otpauth:// URL for a QR code.' }),
    }),
  });

const ConfirmSecondFactorInput = builder.inputType('ConfirmSecondFactorInput', {
  description: 'Confirmation that the app has the secret.',
  fields: (t) => ({ code: t.string({ required: true, description: 'The current code of the app, six digits.' }) }),
});
const ConfirmSecondFactorPayload = builder
  .objectRef<{ readonly recoveryCodes: readonly string[] }>('ConfirmSecondFactorPayload')
  .implement({
    description: 'Recovery codes for a lost app.',
    fields: (t) => ({
      recoveryCodes: t.exposeStringList('recoveryCodes', {
        description: 'Each code replaces a code of the app once. They are returned only once.',
      }),
    }),
  });

const RemoveSecondFactorInput = builder.inputType('RemoveSecondFactorInput', {
  description: 'The password and a code.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'Password of the caller.' }),
    code: t.string({ required: true, description: 'Code of the app, or a recovery code.' }),
  }),
});

const ResetSecondFactorInput = builder.inputType('ResetSecondFactorInput', {
  description: 'The user who has lost the second factor.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Id of the user.' }) }),
});

builder.mutationFields((t) => ({
  beginSecondFactor: t.field({
    description: 'Creates a secret for an authenticator app. `confirmSecondFactor` activates it.',
    type: BeginSecondFactorPayload,
    ...account,
    args: inputArgument(BeginSecondFactorInput, 'Password of the caller.'),
    resolve: async (_root, { input: { currentPassword } }, { services: { auth }, viewer, address }) => {
      const { id } = requireAccount(viewer);
      if (!(await auth.passwords.confirm(id, { password: currentPassword }, address))) {
        throw new ServiceError('NOT_ALLOWED', 'The current password is wrong');
      }
      return auth.secondFactors.begin(id);
    },
  }),
  confirmSecondFactor: t.field({
    description: 'Activates the second factor and ends all other sessions. A wrong code is NOT_ALLOWED.',
    type: ConfirmSecondFactorPayload,
    ...account,
    args: inputArgument(ConfirmSecondFactorInput, 'The code of the app.'),
    resolve: async (_root, { input: { code } }, { services: { auth }, viewer, address }) => {
      const { id, name, credentialId } = requireAccount(viewer);
      const holder = { userId: id, account: name, sessionId: credentialId };
      return { recoveryCodes: await auth.passwords.confirmSecondFactor(holder, code, address) };
    },
  }),
  removeSecondFactor: t.field({
    description: 'Removes the own second factor. A wrong password or code is NOT_ALLOWED.',
    type: userPayload('removeSecondFactor'),
    ...person,
    args: inputArgument(RemoveSecondFactorInput, 'The password and a code.'),
    resolve: async (_root, { input: { currentPassword, code } }, { services: { auth }, viewer, address }) => {
      const { id } = requirePerson(viewer);
      if (!(await auth.passwords.confirm(id, { password: currentPassword, code }, address))) {
        throw new ServiceError('NOT_ALLOWED', 'The current password or the code is wrong');
      }
      await auth.secondFactors.remove(id);
      return { userId: id };
    },
  }),
  resetSecondFactor: t.field({
    description: 'Removes the lost second factor of a user and ends the sessions of the user.',
    type: userPayload('resetSecondFactor'),
    ...rootAdmin,
    args: inputArgument(ResetSecondFactorInput, 'The user.'),
    resolve: async (_root, { input: { userId } }, { services: { auth } }) => {
      await auth.secondFactors.reset(userId);
      return { userId };
    },
  }),
}));
