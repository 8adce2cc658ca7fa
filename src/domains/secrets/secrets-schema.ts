import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import type { SecretRotation, UnreadableSecret } from './secret-rotation.ts';

const Unreadable = builder.objectRef<UnreadableSecret>('UnreadableSecret').implement({
  description: 'A stored secret that no key opens.',
  fields: (t) => ({
    context: t.exposeString('context', { description: 'What it belongs to, as `brk_…/password`.' }),
    reason: t.exposeString('reason', { description: 'Why it cannot be opened, and what to do.' }),
  }),
});

const Payload = builder.objectRef<SecretRotation>('RotateSecretsPayload').implement({
  description: 'The result of a rotation.',
  fields: (t) => ({
    resealed: t.exposeInt('resealed', { description: 'Number of secrets that were sealed again.' }),
    discarded: t.exposeInt('discarded', { description: 'Number of secrets that no key opens and that were deleted.' }),
    unreadable: t.field({
      type: [Unreadable],
      description: 'Stored secrets that no key opens, at most the first hundred.',
      resolve: ({ unreadable }) => [...unreadable],
    }),
    unreadableCount: t.exposeInt('unreadableCount', { description: 'Number of all of these.' }),
    removable: t.exposeString('removable', {
      nullable: true,
      description:
        'Where the previous key is, which may be removed now: SECRET_KEY_PREVIOUS, or a file. Null if there is none, or if it is still needed.',
    }),
  }),
});

const Input = builder.inputType('RotateSecretsInput', {
  description: 'What happens to secrets that no key opens.',
  fields: (t) => ({
    discardUnreadable: t.boolean({
      defaultValue: false,
      description: 'Whether they are deleted; second factors stay. No new key is generated then. Default: false.',
    }),
  }),
});

builder.mutationFields((t) => ({
  rotateSecrets: t.field({
    description:
      'Seals all stored secrets with the current key: SECRET_KEY, or a new `secret.key`. Continues a rotation that was interrupted. INVALID if the service has no previous key.',
    type: Payload,
    ...rootAdmin,
    args: { input: t.arg({ type: Input, description: 'Default: they stay, and are returned.' }) },
    resolve: (_root, { input }, { services }) => services.secrets.rotate(input ?? {}),
  }),
}));
