import { builder, open } from '../../gateway/graphql/builder.ts';
import { LoginPayload, signedInAs } from './login-schema.ts';
import type { SignInOffers } from './sign-in-service.ts';

const SignInOffersType = builder.objectRef<SignInOffers>('SignInOffers').implement({
  description: 'The ways there are to sign in.',
  fields: (t) => ({
    local: t.exposeBoolean('local', {
      description: 'With a password of this service. False: nobody but the one administrator for emergencies.',
    }),
    ldap: t.exposeBoolean('ldap', { description: 'With the password of the directory, by the same mutation `login`.' }),
    openIdConnect: t.exposeBoolean('openIdConnect', {
      description: 'At the OpenID provider: send the browser to `/auth/oidc?returnTo=…`.',
    }),
  }),
});

const CompleteSignInInput = builder.inputType('CompleteSignInInput', {
  description: 'What the browser brought back.',
  fields: (t) => ({
    code: t.string({
      required: true,
      description: 'What the address had behind `#code=` when the browser came back. Once, within a minute.',
    }),
    verifier: t.string({
      description: 'Whose SHA-256, in base64url, was sent as `challenge` when the sign-in began; needed then.',
      extensions: { secret: true },
    }),
  }),
});

builder.queryFields((t) => ({
  signInOffers: t.field({
    description: 'How people may sign in here; for everybody, since it is asked before.',
    type: SignInOffersType,
    ...open,
    resolve: (_root, _args, { services }) => services.signIn.offers,
  }),
}));

builder.mutationFields((t) => ({
  completeSignIn: t.field({
    description: 'Opens the session of somebody who signed in at the OpenID provider.',
    type: LoginPayload,
    ...open,
    args: { input: t.arg({ type: CompleteSignInInput, required: true, description: 'The code of the sign-in.' }) },
    resolve: async (_root, { input }, context) =>
      signedInAs(context, await context.services.signIn.complete(input, context.address)),
  }),
}));
