import { enumName, type Route } from '../../gateway/rest/route.ts';
import { constant, epochMs } from '../../gateway/rest/values.ts';
import { isDateTime } from '../../platform/date-times.ts';
import { PROJECT_ROLES_SPELLED } from '../projects/project-bodies.ts';
import {
  DELETED_TOKEN,
  ISSUED_TOKEN,
  NEW_TOKEN,
  ROTATED_TOKEN,
  ROTATION,
  TOKEN_TYPES,
  TOKENS,
} from './token-bodies.ts';

const FIELDS = `id project_id: projectId role_id: role issuer name hash issue_date: issuedAt valid_date: validUntil
  last_used_date: lastUsedAt brokers: brokerIds type`;

const LIST = `query ($projectId: ID!) { project(id: $projectId) { tokenCount tokens { ${FIELDS} } } }`;
const CREATE = `mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { ${FIELDS} token: secret } } }`;
const ROTATE = `mutation ($input: RotateTokenInput!) {
  rotateToken(input: $input) { token { ${FIELDS} token: secret previous_valid_date: previousValidUntil } }
}`;
const DELETE = 'mutation ($input: RevokeTokenInput!) { revokeToken(input: $input) { success: __typename } }';

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const EPOCH = /^\d+$/;

/** `valid_date` as a DateTime of the graph. Other values are returned unchanged and refused there. */
function dateTimeOf(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  if (DAY.test(text)) return `${text}T23:59:59.999Z`;
  const epochMs = EPOCH.test(text) ? Number(text) : Number.NaN;
  return isDateTime(epochMs) ? new Date(epochMs).toISOString() : text;
}

const LIST_PATH = '/api/projects/{projectId}/tokens';
const TOKEN_PATH = `${LIST_PATH}/{tokenId}`;
const DOCUMENTED = { section: '4.10', tag: 'Tokens', since: '3.1' } as const;
const ERRORS = [401, 403, 404, 500] as const;
const NAMES = { validUntil: 'valid_date', brokerIds: 'brokers' } as const;
const DATES = { issue_date: epochMs(), valid_date: epochMs(), last_used_date: epochMs() };
const SPELL = { ProjectRole: PROJECT_ROLES_SPELLED, TokenType: TOKEN_TYPES } as const;

export const tokenRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'listTokens',
    summary: 'List the tokens of a project',
    keywords: 'api keys credentials',
    description: 'A restricted token sees only itself.',
    operation: LIST,
    pick: 'project.tokens',
    total: 'project.tokenCount',
    spell: SPELL,
    values: DATES,
    response: TOKENS,
    errors: ERRORS,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'createToken',
    summary: 'Create a token',
    keywords: 'issue api key credentials',
    description: 'Not with a token: the new token would outlive the revoked one.',
    body: NEW_TOKEN,
    inputNames: NAMES,
    operation: CREATE,
    variables: ({ params, body: { name, role, brokers, type, valid_date } }) => ({
      input: {
        ...params,
        name,
        role: enumName(PROJECT_ROLES_SPELLED, role),
        type: enumName(TOKEN_TYPES, type),
        brokerIds: brokers,
        validUntil: dateTimeOf(valid_date),
      },
    }),
    pick: 'createToken.token',
    spell: SPELL,
    values: DATES,
    response: ISSUED_TOKEN,
    errors: [400, ...ERRORS],
  },
  {
    method: 'DELETE',
    path: TOKEN_PATH,
    ...DOCUMENTED,
    operationId: 'deleteToken',
    summary: 'Delete a token',
    keywords: 'revoke remove api key',
    description: 'Takes effect immediately and ends open subscriptions of the token. Not with a token.',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    pick: 'revokeToken',
    values: { success: constant(true) },
    response: DELETED_TOKEN,
    errors: ERRORS,
  },
  {
    method: 'POST',
    path: `${TOKEN_PATH}/rotate`,
    tag: 'Tokens',
    since: '3.1',
    operationId: 'rotateToken',
    summary: 'Rotate the secret of a token',
    keywords: 'renew refresh replace api key',
    description: 'The previous secret remains valid for `overlap_seconds`. Not with a token.',
    body: ROTATION,
    isBodyOptional: true,
    inputNames: NAMES,
    operation: ROTATE,
    variables: ({ params, body: { overlap_seconds, valid_date } }) => ({
      input: { ...params, overlapSeconds: overlap_seconds, validUntil: dateTimeOf(valid_date) },
    }),
    pick: 'rotateToken.token',
    spell: SPELL,
    values: { ...DATES, previous_valid_date: epochMs() },
    omitNull: ['previous_valid_date'],
    response: ROTATED_TOKEN,
    errors: [400, ...ERRORS],
  },
];
