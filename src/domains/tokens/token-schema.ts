import type { RequestContext } from '../../gateway/context.ts';
import { builder, inProject, requires } from '../../gateway/graphql/builder.ts';
import { Node } from '../../gateway/graphql/node.ts';
import { requireNoToken, requireSignedIn } from '../../platform/auth/viewer.ts';
import { Project, ProjectRole } from '../projects/project-schema.ts';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from './rotation.ts';
import type { IssuedToken, TokenWithBrokers } from './token-service.ts';

const TokenType = builder.enumType('TokenType', {
  description: 'RESTRICTED: sees and touches only the brokers it names.',
  values: ['RESTRICTED', 'UNRESTRICTED'] as const,
});

/** With its secret where it was made just now. */
type ToldToken = TokenWithBrokers & { readonly secret?: string };

const lastsUntil = ({ previousValidUntil }: ToldToken): Date | null =>
  previousValidUntil !== null && previousValidUntil.getTime() > Date.now() ? previousValidUntil : null;

const Token = builder.objectRef<ToldToken>('Token').implement({
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
    previousValidUntil: t.field({
      description: 'Until when the secret before the last rotation is good, too; null: it is not.',
      type: 'DateTime',
      nullable: true,
      resolve: lastsUntil,
    }),
    issueDate: t.float({
      description: '`issuedAt` in epoch milliseconds.',
      resolve: ({ issuedAt }) => issuedAt.getTime(),
    }),
    validDate: t.float({
      description: '`validUntil` in epoch milliseconds.',
      nullable: true,
      resolve: ({ validUntil }) => validUntil?.getTime() ?? null,
    }),
    lastUsedDate: t.float({
      description: '`lastUsedAt` in epoch milliseconds.',
      nullable: true,
      resolve: ({ lastUsedAt }) => lastUsedAt?.getTime() ?? null,
    }),
    previousValidDate: t.float({
      description: '`previousValidUntil` in epoch milliseconds.',
      nullable: true,
      resolve: (token) => lastsUntil(token)?.getTime() ?? null,
    }),
    secret: t.string({
      description: 'In the answer that makes or rotates the token; null everywhere else, as nobody knows it.',
      nullable: true,
      resolve: ({ secret }) => secret ?? null,
    }),
    brokerIds: t.field({ type: ['ID'], resolve: ({ brokers }) => brokers.map(({ brokerId }) => brokerId) }),
  }),
});

builder.objectFields(Project, (t) => ({
  tokens: t.field({
    description: 'A token that is restricted to brokers sees itself alone.',
    type: [Token],
    resolve: ({ id }, _args, { services, viewer }) => services.tokens.visibleIn(id, viewer),
  }),
  tokenCount: t.int({
    description: 'How many `tokens` has.',
    resolve: ({ id }, _args, { services, viewer }) => services.tokens.countIn(id, viewer),
  }),
}));

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    name: t.string({ required: true }),
    role: t.field({ type: ProjectRole, required: true, description: 'Never above the own role.' }),
    type: t.field({ type: TokenType, description: 'Without it: RESTRICTED where brokers are named.' }),
    brokerIds: t.idList({
      description: 'Only these brokers. Without it: all brokers of the project, also later ones.',
    }),
    validUntil: t.field({ type: 'DateTime', description: 'Without it: until revoked.' }),
  }),
});
const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  fields: (t) => ({
    tokenId: t.id({ required: true }),
    projectId: t.id({ description: 'When given, the token must be of this project.' }),
  }),
});
const RotateTokenInput = builder.inputType('RotateTokenInput', {
  description: 'Which token gets a new secret.',
  fields: (t) => ({
    tokenId: t.id({ required: true, description: 'Of the token.' }),
    projectId: t.id({ description: 'When given, the token must be of this project.' }),
    overlapSeconds: t.int({
      description: `How long the secret before remains good: 0 to ${MAX_OVERLAP_SECONDS}, by default ${DEFAULT_OVERLAP_SECONDS}. What is open with it ends then.`,
    }),
    validUntil: t.field({
      type: 'DateTime',
      description: 'A new end of the token; without it: as before; null: until revoked.',
    }),
  }),
});

interface Target {
  readonly input: { readonly tokenId: string; readonly projectId?: string | null | undefined };
}

/** ADMIN in the project of the token, and no token. */
const onToken = {
  authScopes: async (_parent: unknown, { input }: Target, { viewer, services }: RequestContext) => {
    requireNoToken(await services.tokens.requireAdmin(input.tokenId, viewer, input.projectId));
    return true;
  },
  ...requires('ADMIN', { byTokens: false, elsewhere: 'NOT_FOUND' }),
};

const IssuedTokenFields = (name: string) =>
  builder.objectRef<IssuedToken>(name).implement({
    description: 'A token with its secret.',
    fields: (t) => ({
      token: t.field({
        description: 'As it is in lists.',
        type: Token,
        resolve: ({ token, secret }) => ({ ...token, secret }),
      }),
      secret: t.exposeString('secret', { description: 'To be sent as "Authorization: Bearer <secret>". Shown once.' }),
    }),
  });
const CreateTokenPayload = IssuedTokenFields('CreateTokenPayload');
const RotateTokenPayload = IssuedTokenFields('RotateTokenPayload');
const RevokeTokenPayload = builder.objectRef<{ readonly revokedTokenId: string }>('RevokeTokenPayload').implement({
  fields: (t) => ({
    revokedTokenId: t.exposeID('revokedTokenId'),
    success: t.boolean({ description: 'True: a token that cannot be revoked is an error.', resolve: () => true }),
  }),
});

builder.mutationFields((t) => ({
  createToken: t.field({
    description: 'Makes a token for programs, which cannot make further ones with it. Its secret is told this once.',
    type: CreateTokenPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: { input: t.arg({ type: CreateTokenInput, required: true }) },
    resolve: (_root, { input }, { services, viewer }) => services.tokens.create(input, requireSignedIn(viewer)),
  }),
  rotateToken: t.field({
    description:
      'Gives a token a new secret, told this once; the one before remains good for a while. Needs ADMIN in the token’s project, and no token.',
    type: RotateTokenPayload,
    ...onToken,
    args: { input: t.arg({ type: RotateTokenInput, required: true, description: 'Which one, and how.' }) },
    resolve: (_root, { input: { tokenId, ...rotation } }, { services }) => services.tokens.rotate(tokenId, rotation),
  }),
  revokeToken: t.field({
    description: 'Needs ADMIN in the token’s project, and no token. Ends open subscriptions of the token, too.',
    type: RevokeTokenPayload,
    ...onToken,
    args: { input: t.arg({ type: RevokeTokenInput, required: true }) },
    resolve: async (_root, { input }, { services }) => {
      await services.tokens.revoke(input.tokenId);
      return { revokedTokenId: input.tokenId };
    },
  }),
}));
