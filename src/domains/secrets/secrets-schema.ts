import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import type { SecretRotation, UnreadableSecret } from './secret-rotation.ts';

const Unreadable = builder.objectRef<UnreadableSecret>('UnreadableSecret').implement({
  description: 'A stored secret that no key opens.',
  fields: (t) => ({
    context: t.exposeString('context', { description: 'Name of the secret, such as `brk_…/password`.' }),
    reason: t.exposeString('reason', { description: 'Why it cannot be opened, and what to do.' }),
  }),
});

const RotateSecretsPayload = builder.objectRef<SecretRotation>('RotateSecretsPayload').implement({
  description: 'The result of a rotation.',
  fields: (t) => ({
    resealed: t.exposeInt('resealed', { description: 'Number of secrets that were sealed again.' }),
    discarded: t.exposeInt('discarded', { description: 'Number of secrets that no key opens and that were deleted.' }),
    unreadable: t.expose('unreadable', {
      type: [Unreadable],
      description: 'Stored secrets that no key opens, at most the first hundred.',
    }),
    unreadableCount: t.exposeInt('unreadableCount', { description: 'Number of stored secrets that no key opens.' }),
    removable: t.exposeString('removable', {
      nullable: true,
      description:
        'Location of the previous key if it can be removed now: SECRET_KEY_PREVIOUS or a file. Null if it is still needed or does not exist.',
    }),
  }),
});

const Input = builder.inputType('RotateSecretsInput', {
  description: 'How secrets that no key opens are treated.',
  fields: (t) => ({
    discardUnreadable: t.boolean({
      defaultValue: false,
      description:
        'Whether secrets that no key opens are deleted, except second factors. If true, no new key is generated. Default: false.',
    }),
  }),
});

builder.mutationFields((t) => ({
  rotateSecrets: t.field({
    description:
      'Seals all stored secrets with the current key: SECRET_KEY, or a new `secret.key`. Continues an interrupted rotation. INVALID if the service has no previous key.',
    type: RotateSecretsPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: Input, description: 'Default: secrets that no key opens are not deleted.' }) },
    resolve: (_root, { input }, { services }) => services.secrets.rotate(input ?? {}),
  }),
}));
