import { requireSignedIn } from '../auth/viewer.ts';
import { builder, inProject, signedIn } from '../graphql/builder.ts';
import { Node } from '../graphql/node.ts';
import { Project, ProjectRole } from '../projects/project-schema.ts';
import type { TokenWithBrokers } from './token-service.ts';

const TokenType = builder.enumType('TokenType', {
  description: 'RESTRICTED: sees and touches only the brokers it names.',
  values: ['RESTRICTED', 'UNRESTRICTED'] as const,
});

const Token = builder.objectRef<TokenWithBrokers>('Token').implement({
  description: 'A credential of a project for programs. Its secret is shown once, when it is made.',
  interfaces: [Node],
  fields: (t) => ({
    projectId: t.exposeID('projectId'),
    name: t.exposeString('name'),
    role: t.expose('role', { type: ProjectRole }),
    type: t.expose('type', { type: TokenType }),
    hash: t.exposeString('tokenHash', { description: 'SHA-256 of the secret, to recognise it by.' }),
    issuer: t.exposeString('issuer'),
    issuedAt: t.expose('issuedAt', { type: 'DateTime' }),
    validUntil: t.expose('validUntil', { type: 'DateTime', nullable: true }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'To the minute.' }),
    brokerIds: t.field({ type: ['ID'], resolve: ({ brokers }) => brokers.map(({ brokerId }) => brokerId) }),
  }),
});

builder.objectFields(Project, (t) => ({
  tokens: t.field({
    description: 'A token that is restricted to brokers sees itself alone.',
    type: [Token],
    resolve: ({ id }, _args, { services, viewer }) => services.tokens.visibleIn(id, viewer),
  }),
}));

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    name: t.string({ required: true }),
    role: t.field({ type: ProjectRole, required: true, description: 'Never above the own role.' }),
    brokerIds: t.idList({
      description: 'Only these brokers. Without it: all brokers of the project, also later ones.',
    }),
    validUntil: t.field({ type: 'DateTime', description: 'Without it: until revoked.' }),
  }),
});
const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  fields: (t) => ({ tokenId: t.id({ required: true }) }),
});

const CreateTokenPayload = builder
  .objectRef<{ readonly token: TokenWithBrokers; readonly secret: string }>('CreateTokenPayload')
  .implement({
    fields: (t) => ({
      token: t.field({ type: Token, resolve: ({ token }) => token }),
      secret: t.exposeString('secret', { description: 'To be sent as "Authorization: Bearer <secret>". Shown once.' }),
    }),
  });
const RevokeTokenPayload = builder
  .objectRef<{ readonly revokedTokenId: string }>('RevokeTokenPayload')
  .implement({ fields: (t) => ({ revokedTokenId: t.exposeID('revokedTokenId') }) });

builder.mutationFields((t) => ({
  createToken: t.field({
    description: 'Makes a token for programs. It is told this once.',
    type: CreateTokenPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: CreateTokenInput, required: true }) },
    resolve: (_root, { input }, { services, viewer }) => services.tokens.create(input, requireSignedIn(viewer)),
  }),
  revokeToken: t.field({
    description: 'Needs ADMIN in the token’s project. Ends open subscriptions of the token, too.',
    type: RevokeTokenPayload,
    ...signedIn,
    extensions: { requires: 'ADMIN' },
    args: { input: t.arg({ type: RevokeTokenInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.tokens.revokeAs(input.tokenId, viewer);
      return { revokedTokenId: input.tokenId };
    },
  }),
}));
