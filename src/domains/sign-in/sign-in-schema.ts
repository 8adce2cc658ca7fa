import { builder, open } from '../../gateway/graphql/builder.ts';
import { LoginPayload, signedInAs } from './login-schema.ts';
import type { SignInOffers } from './sign-in-service.ts';

const SignInOffersType = builder.objectRef<SignInOffers>('SignInOffers').implement({
  description: 'The available methods of signing in.',
  fields: (t) => ({
    local: t.exposeBoolean('local', {
      description: 'Whether local passwords are valid. If false, only the emergency administrator has one.',
    }),
    ldap: t.exposeBoolean('ldap', {
      description: 'Whether passwords of the LDAP directory are valid, with the mutation `login`.',
    }),
    openIdConnect: t.exposeBoolean('openIdConnect', {
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
    type: LoginPayload,
    ...open,
    args: { input: t.arg({ type: CompleteSignInInput, required: true, description: 'The code of the sign-in.' }) },
    resolve: async (_root, { input }, context) =>
      signedInAs(context, await context.services.signIn.complete(input, context.address)),
  }),
}));
