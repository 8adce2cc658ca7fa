import type { RequestContext } from '../../gateway/context.ts';
import { builder, inProject, requires } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { idPayload, inputArgument } from '../../gateway/graphql/payloads.ts';
import { belongsToProject } from '../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import type { ProjectToken } from '../../generated/sqlite/client.ts';
import { requireNoToken, requireSignedIn } from '../../platform/auth/viewer.ts';
import { Project, ProjectRole } from '../projects/project-schema.ts';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from './token-input.ts';
import { type IssuedToken, visibleTokens } from './token-service.ts';

const NAME = 'Name of the token: 1 to 200 characters. It need not be unique.';
const INSIDE_PROJECT = 'If set, the token must belong to this project.';
const TOKEN_ID = 'Id of the token.';

const TokenType = describedEnum(
  'TokenType',
  'Whether a token has access to all brokers of its project or only to its own list (RESTRICTED).',
  {
    RESTRICTED: 'Access to the brokers in `brokerIds` only.',
    UNRESTRICTED: 'Access to all brokers of the project, also later ones.',
  },
);

const previousEnd = ({ previousValidUntil }: Pick<ProjectToken, 'previousValidUntil'>): Date | null =>
  previousValidUntil !== null && previousValidUntil.getTime() > Date.now() ? previousValidUntil : null;

const Token = builder.prismaObject('ProjectToken', {
  name: 'Token',
  description:
    'A credential of a project for programs. Its secret is returned only once, by the mutation that creates it.',
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  interfaces: [Node],
  select: { id: true, projectId: true },
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'Id of the project to which the token gives access.' }),
    name: t.exposeString('name', { description: NAME }),
    role: t.expose('role', { description: 'Role of the token in the project.', type: ProjectRole }),
    type: t.expose('type', {
      description: 'Whether the token has access to all brokers of the project.',
      type: TokenType,
    }),
    hash: t.exposeString('tokenHash', { description: 'SHA-256 of the secret, to identify it.' }),
    issuer: t.exposeString('issuer', {
      description: 'E-mail address of the user who created the token; `operator` for the command line.',
    }),
    issuedAt: t.expose('issuedAt', { description: 'Time at which the token was created.', type: 'DateTime' }),
    validUntil: t.expose('validUntil', {
      description: 'When the token expires. Null if it is valid until revoked.',
      type: 'DateTime',
      nullable: true,
    }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'Accurate to one minute.' }),
    previousValidUntil: t.field({
      description: 'When the previous secret expires after a rotation. Null if it has expired.',
      type: 'DateTime',
      nullable: true,
      select: { previousValidUntil: true },
      resolve: previousEnd,
    }),
    secret: t.string({
      description:
        'Only in the response that creates or rotates the token; otherwise null, since only a hash is stored.',
      nullable: true,
      resolve: (token) => (token as { readonly secret?: string }).secret ?? null,
    }),
    brokerIds: t.field({
      description: 'Ids of the brokers that a RESTRICTED token may access, sorted. Empty for an UNRESTRICTED token.',
      type: ['ID'],
      select: { brokers: { select: { brokerId: true }, orderBy: { brokerId: 'asc' } } },
      resolve: ({ brokers }) => brokers.map(({ brokerId }) => brokerId),
    }),
  }),
});

findsNode('token', (id, { services, viewer }) => services.tokens.findVisible(id, viewer));

builder.prismaObjectFields(Project, (t) => ({
  tokens: t.relation('tokens', {
    description: 'The tokens of the project. A restricted token sees only itself.',
    query: (_args, { viewer }) => ({ where: visibleTokens(viewer), orderBy: { id: 'asc' } }),
  }),
  tokenCount: t.relationCount('tokens', {
    description: 'Number of entries of `tokens`.',
    where: (_args, { viewer }) => visibleTokens(viewer),
  }),
}));

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A new token. A project has at most 1,000 tokens.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: 'Id of the project to which the token gives access.' }),
    name: t.string({ required: true, description: NAME }),
    role: t.field({ type: ProjectRole, required: true, description: 'At most the role of the caller.' }),
    type: t.field({ type: TokenType, description: 'Default: RESTRICTED if `brokerIds` is set.' }),
    brokerIds: t.idList({
      description: 'Visible brokers, at most 1,000. Default: all brokers of the project, also later ones.',
    }),
    validUntil: t.field({ type: 'DateTime', description: 'Default: valid until revoked.' }),
  }),
});
const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'The token to revoke.',
  fields: (t) => ({
    tokenId: t.id({ required: true, description: TOKEN_ID }),
    projectId: t.id({ description: INSIDE_PROJECT }),
  }),
});
const RotateTokenInput = builder.inputType('RotateTokenInput', {
  description: 'The token that receives a new secret.',
  fields: (t) => ({
    tokenId: t.id({ required: true, description: TOKEN_ID }),
    projectId: t.id({ description: INSIDE_PROJECT }),
    overlapSeconds: t.int({
      description: `How long the previous secret remains valid, in seconds: 0 to ${MAX_OVERLAP_SECONDS}. Default: ${DEFAULT_OVERLAP_SECONDS}. Its subscriptions end with it.`,
    }),
    validUntil: t.field({
      type: 'DateTime',
      description: 'The new end of the token. Null: valid until revoked. Default: unchanged.',
    }),
  }),
});

type Target = { readonly input: { readonly tokenId: string; readonly projectId?: string | null | undefined } };

/** Requires the ADMIN role in the project of the token. Project tokens are not allowed. */
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
        description: 'The token as in lists, with its secret.',
        type: Token,
        resolve: ({ token, secret }) => ({ ...token, secret }),
      }),
      secret: t.exposeString('secret', {
        description: 'Send it as "Authorization: Bearer <secret>". It is returned only once.',
      }),
    }),
  });
const CreateTokenPayload = IssuedTokenFields('CreateTokenPayload');
const RotateTokenPayload = IssuedTokenFields('RotateTokenPayload');
const RevokeTokenPayload = idPayload(
  'revokeToken',
  'revokedTokenId',
  'The token that was revoked.',
  'Id of the revoked token.',
);

builder.mutationFields((t) => ({
  createToken: t.field({
    description:
      'Creates a token for programs. Its secret is returned only once. A token cannot create further tokens.',
    type: CreateTokenPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: inputArgument(CreateTokenInput, 'The new token.'),
    resolve: (_root, { input }, { services, viewer }) => services.tokens.create(input, requireSignedIn(viewer)),
  }),
  rotateToken: t.field({
    description:
      'Gives a token a new secret, which is returned only once. The previous secret remains valid for `overlapSeconds`. Requires the ADMIN role in the project of the token. Project tokens are not allowed.',
    type: RotateTokenPayload,
    ...onToken,
    args: inputArgument(RotateTokenInput, 'The token and the overlap.'),
    resolve: (_root, { input: { tokenId, ...rotation } }, { services }) => services.tokens.rotate(tokenId, rotation),
  }),
  revokeToken: t.field({
    description:
      'Revokes a token and ends its open subscriptions. Requires the ADMIN role in the project of the token. Project tokens are not allowed.',
    type: RevokeTokenPayload,
    ...onToken,
    args: inputArgument(RevokeTokenInput, 'The token to revoke.'),
    resolve: async (_root, { input }, { services }) => {
      await services.tokens.revoke(input.tokenId);
      return { revokedTokenId: input.tokenId };
    },
  }),
}));

const CREATE = 'Mutation.createToken';

builder.prismaObjectFields(Project, (t) => ({
  viewerCanCreateTokens: t.boolean(viewerCan(CREATE, 'create tokens', ofProject)),
}));

builder.prismaObjectFields(Token, (t) => ({
  // The guards of `rotateToken` and `revokeToken` require the same, but read the token of each row.
  viewerCanManage: t.boolean(
    viewerCan(CREATE, 'rotate and revoke the token', ({ projectId: id }: { readonly projectId: string }) =>
      ofProject({ id }),
    ),
  ),
}));
