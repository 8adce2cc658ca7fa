import { builder } from '../../gateway/graphql/builder.ts';
import type { SignInProvider as ProviderName } from '../users/sign-in-methods.ts';
import { ofSelf, SignInProvider, User } from '../users/user-schema.ts';

builder.prismaObject('Identity', {
  description: 'An account of a user at an external provider.',
  select: { userId: true },
  fields: (t) => ({
    provider: t.field({
      description: 'The external provider.',
      type: SignInProvider,
      select: { provider: true },
      resolve: ({ provider }) => provider as ProviderName,
    }),
    subject: t.exposeString('subject', {
      description:
        'Id of the account at the provider. OpenID Connect: issuer and subject. LDAP: a unique id or the distinguished name.',
    }),
    checkedAt: t.expose('checkedAt', {
      type: 'DateTime',
      description: 'When this service last read the account at the provider.',
    }),
  }),
});

builder.prismaObjectFields(User, (t) => ({
  identities: t.relation('identities', {
    description: 'Accounts of the user at external providers. For the user and root administrators.',
    nullable: true,
    ...ofSelf,
    query: { orderBy: [{ provider: 'asc' }, { subject: 'asc' }] },
  }),
}));
