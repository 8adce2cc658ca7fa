import type { Config } from '../../platform/config/config.ts';
import { runOnGraph } from './graph.ts';
import { type Terminal, table } from './terminal.ts';

interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly type: string;
  readonly issuer: string;
  readonly issuedAt: string;
  readonly validUntil: string | null;
  readonly lastUsedAt: string | null;
  readonly brokerIds: readonly string[];
}

const FIELDS = 'id name role type issuer issuedAt validUntil lastUsedAt brokerIds';

export interface CreateOptions {
  readonly project: string;
  readonly name: string;
  readonly role: string;
  readonly broker?: readonly string[];
  readonly days?: number;
  readonly json?: boolean;
}

export async function createToken(config: Config, { out }: Terminal, options: CreateOptions): Promise<void> {
  const { createToken: payload } = await runOnGraph<{ createToken: { token: Token; secret: string } }>(
    config,
    `mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { ${FIELDS} } secret } }`,
    {
      input: {
        projectId: options.project,
        name: options.name,
        role: options.role.toUpperCase(),
        brokerIds: options.broker,
        validUntil: options.days === undefined ? null : new Date(Date.now() + options.days * 86_400_000).toISOString(),
      },
    },
    { projectId: '--project', name: '--name', brokerIds: '--broker', validUntil: '--days' },
  );
  if (options.json) out(`${JSON.stringify({ ...payload.token, secret: payload.secret })}\n`);
  else out(`Created ${payload.token.id}.\nSecret, shown only once: ${payload.secret}\n`);
}

export interface ListOptions {
  readonly project: string;
  readonly json?: boolean;
}

export async function listTokens(config: Config, { out }: Terminal, { project, json }: ListOptions): Promise<void> {
  const { project: found } = await runOnGraph<{ project: { tokens: Token[] } }>(
    config,
    `query ($id: ID!) { project(id: $id) { tokens { ${FIELDS} } } }`,
    { id: project },
  );
  if (json) out(`${JSON.stringify(found.tokens)}\n`);
  else {
    const rows = found.tokens.map(({ id, name, role, type, brokerIds, validUntil, lastUsedAt }) => [
      id,
      name,
      role.toLowerCase(),
      type === 'RESTRICTED' ? brokerIds.join(' ') || 'none' : 'all',
      validUntil ?? 'until revoked',
      lastUsedAt ?? 'never',
    ]);
    out(table([['ID', 'NAME', 'ROLE', 'BROKERS', 'VALID UNTIL', 'LAST USED'], ...rows]));
  }
}

export async function revokeToken(
  config: Config,
  { out }: Terminal,
  id: string,
  { json }: { json?: boolean },
): Promise<void> {
  await runOnGraph(config, 'mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }', { id });
  out(json ? `${JSON.stringify({ revoked: id })}\n` : `Revoked ${id}.\n`);
}

export interface RotateOptions {
  readonly overlap?: number;
  readonly json?: boolean;
}

export async function rotateToken(
  config: Config,
  { out }: Terminal,
  id: string,
  { overlap, json }: RotateOptions,
): Promise<void> {
  const { rotateToken: payload } = await runOnGraph<{
    rotateToken: { token: Token & { readonly previousValidUntil: string | null }; secret: string };
  }>(
    config,
    `mutation ($input: RotateTokenInput!) { rotateToken(input: $input) { token { ${FIELDS} previousValidUntil } secret } }`,
    { input: { tokenId: id, overlapSeconds: overlap ?? null } },
    { tokenId: '<id>', overlapSeconds: '--overlap' },
  );
  const { token, secret } = payload;
  if (json) out(`${JSON.stringify({ ...token, secret })}\n`);
  else {
    const { previousValidUntil: until } = token;
    out(`New secret of ${id}, shown only once: ${secret}\n`);
    out(`The previous secret is ${until === null ? 'revoked' : `valid until ${until}`}.\n`);
  }
}
