import { builder, person, rootAdmin } from '../../gateway/graphql/builder.ts';
import { requirePerson } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { User, UserPayload } from '../users/user-schema.ts';
import { ViewerType } from '../users/viewer-schema.ts';

builder.prismaObjectFields(User, (t) => ({
  hasSecondFactor: t.boolean({
    description:
      'A password alone does not sign this person in. For the person and root administrators; null for others.',
    nullable: true,
    select: { id: true, totpSince: true },
    resolve: ({ id, totpSince }, _args, { viewer }) =>
      viewer?.isRootAdmin === true || viewer?.id === id ? totpSince !== null : null,
  }),
}));

builder.objectFields(ViewerType, (t) => ({
  recoveryCodesLeft: t.int({
    description: 'Of the caller’s second factor; 0 without one.',
    resolve: ({ kind, id }, _args, { services }) =>
      kind === 'USER' ? services.auth.secondFactors.recoveryCodesLeft(id) : 0,
  }),
}));

const BeginSecondFactorInput = builder.inputType('BeginSecondFactorInput', {
  description: 'What shows that it is the person.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'The one that the person signs in with now.' }),
  }),
});
const BeginSecondFactorPayload = builder
  .objectRef<{ readonly secret: string; readonly url: string }>('BeginSecondFactorPayload')
  .implement({
    description: 'What an authenticator app makes its codes of.',
    fields: (t) => ({
      secret: t.exposeString('secret', { description: 'To be typed into an authenticator app. Shown once.' }),
      url: t.exposeString('url', { description: 'The same as otpauth://… for a QR code.' }),
    }),
  });

const ConfirmSecondFactorInput = builder.inputType('ConfirmSecondFactorInput', {
  description: 'What shows that the app has the secret.',
  fields: (t) => ({ code: t.string({ required: true, description: 'Six digits, as the app shows them now.' }) }),
});
const ConfirmSecondFactorPayload = builder
  .objectRef<{ readonly recoveryCodes: readonly string[] }>('ConfirmSecondFactorPayload')
  .implement({
    description: 'What helps when the app is lost.',
    fields: (t) => ({
      recoveryCodes: t.exposeStringList('recoveryCodes', {
        description: 'Each signs in once in place of a code, when the app is lost. Shown once.',
      }),
    }),
  });

const RemoveSecondFactorInput = builder.inputType('RemoveSecondFactorInput', {
  description: 'What a log-in takes.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'The one that the person signs in with now.' }),
    code: t.string({ required: true, description: 'Of the app, or a recovery code.' }),
  }),
});

const ResetSecondFactorInput = builder.inputType('ResetSecondFactorInput', {
  description: 'Whose it was.',
  fields: (t) => ({ userId: t.id({ required: true, description: 'Of the person who has lost it.' }) }),
});

builder.mutationFields((t) => ({
  beginSecondFactor: t.field({
    description: 'A secret for an authenticator app. It counts once confirmSecondFactor has shown that the app has it.',
    type: BeginSecondFactorPayload,
    ...person,
    args: { input: t.arg({ type: BeginSecondFactorInput, required: true, description: 'The own password.' }) },
    resolve: async (_root, { input: { currentPassword } }, { services: { auth }, viewer, address }) => {
      const { id } = requirePerson(viewer);
      if (!(await auth.confirmPassword(id, currentPassword, address))) {
        throw new ServiceError('NOT_ALLOWED', 'The current password is wrong');
      }
      return auth.secondFactors.begin(id);
    },
  }),
  confirmSecondFactor: t.field({
    description: 'From now on signing in takes a code as well. Ends all other sessions. A wrong code is NOT_ALLOWED.',
    type: ConfirmSecondFactorPayload,
    ...person,
    args: { input: t.arg({ type: ConfirmSecondFactorInput, required: true, description: 'What the app shows.' }) },
    resolve: async (_root, { input: { code } }, { services: { auth }, viewer, address }) => {
      const { id, name, credentialId } = requirePerson(viewer);
      const holder = { userId: id, account: name, sessionId: credentialId };
      return { recoveryCodes: await auth.passwords.confirmSecondFactor(holder, code, address) };
    },
  }),
  removeSecondFactor: t.field({
    description: 'From now on the password alone signs in. A wrong password or code is NOT_ALLOWED.',
    type: UserPayload,
    ...person,
    args: { input: t.arg({ type: RemoveSecondFactorInput, required: true, description: 'The password and a code.' }) },
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
    description: 'For somebody who has lost it: from now on the password alone signs in. Ends the person’s sessions.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: ResetSecondFactorInput, required: true, description: 'Whose.' }) },
    resolve: async (_root, { input: { userId } }, { services: { auth } }) => {
      await auth.secondFactors.reset(userId);
      return { userId };
    },
  }),
}));
