import { hashSecret, newSecret } from '../auth/secrets.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  roleIn,
  roleIncludes,
  type Viewer,
} from '../auth/viewer.ts';
import { invalid, notFound, ServiceError } from '../errors.ts';
import type { ProjectToken } from '../generated/sqlite/client.ts';
import { newId } from '../ids.ts';
import type { Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { goneMeansNotFound } from '../storage/prisma-errors.ts';
import { MAX_NAME, textIssues } from '../texts.ts';

export interface NewToken {
  readonly projectId: string;
  readonly name: string;
  readonly role: ProjectRole;
  /** Only these brokers of the project; null or absent: all, also later ones. */
  readonly brokerIds?: readonly string[] | null | undefined;
  /** Null or absent: until revoked. */
  readonly validUntil?: Date | null | undefined;
}

export type TokenWithBrokers = ProjectToken & { readonly brokers: readonly { readonly brokerId: string }[] };

export interface TokenServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
}

/** Credentials of a project for programs. */
export class TokenService {
  readonly #db: Database;
  readonly #changes: Changes;

  constructor({ db, changes }: TokenServiceOptions) {
    this.#db = db;
    this.#changes = changes;
  }

  /**
   * Makes a token that acts with its own role, never above the issuer's. The secret is in this answer and nowhere else.
   * Errors: INVALID, NOT_ALLOWED (role above the issuer's), NOT_FOUND (project, a broker that is not in it).
   */
  async create(
    input: NewToken,
    issuer: Viewer,
  ): Promise<{ readonly token: TokenWithBrokers; readonly secret: string }> {
    requireProjectRole(issuer, input.projectId, 'ADMIN');
    const held = roleIn(issuer, input.projectId);
    if (held === null || !roleIncludes(held, input.role)) {
      throw new ServiceError('NOT_ALLOWED', 'A token cannot have a higher role than its issuer');
    }
    if (issuer.kind === 'TOKEN') throw new ServiceError('NOT_ALLOWED', 'A token cannot issue tokens');
    return this.issue(input, issuer.name);
  }

  /** `create` without an issuer to check, for the operator at the command line. */
  async issue(input: NewToken, issuer: string): Promise<{ readonly token: TokenWithBrokers; readonly secret: string }> {
    const name = input.name.trim();
    const issues = textIssues('input.name', name, { min: 1, max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    if (input.validUntil && input.validUntil.getTime() <= Date.now()) {
      throw invalid([{ path: 'input.validUntil', reason: 'must be in the future' }]);
    }
    const brokerIds = input.brokerIds ? [...new Set(input.brokerIds)] : null;
    if ((await this.#db.project.count({ where: { id: input.projectId } })) === 0) {
      throw notFound('project', input.projectId);
    }
    await this.#checkBrokers(input.projectId, brokerIds);
    const secret = newSecret('projectToken');
    const data = {
      id: newId('token'),
      projectId: input.projectId,
      name,
      role: input.role,
      type: brokerIds === null ? 'UNRESTRICTED' : 'RESTRICTED',
      issuer,
      validUntil: input.validUntil ?? null,
      tokenHash: hashSecret(secret),
      brokers: { create: (brokerIds ?? []).map((brokerId) => ({ brokerId })) },
    } as const;
    const token = await this.#db.projectToken
      .create({ data, include: { brokers: { select: { brokerId: true } } } })
      .catch(goneMeansNotFound('project', input.projectId));
    return { token, secret };
  }

  /** The tokens of a project that the viewer sees: a token that is restricted to brokers sees itself alone. Errors: UNAUTHORIZED. */
  async visibleIn(projectId: string, viewer: Viewer | null): Promise<TokenWithBrokers[]> {
    const { id, brokers } = requireSignedIn(viewer);
    return this.#db.projectToken.findMany({
      where: { projectId, ...(brokers === null ? {} : { id }) },
      include: { brokers: { select: { brokerId: true } } },
      orderBy: { id: 'asc' },
    });
  }

  /** The token, if the viewer sees it: see `visibleIn`. Errors: UNAUTHORIZED. */
  async findVisible(tokenId: string, viewer: Viewer | null): Promise<TokenWithBrokers | null> {
    const known = requireSignedIn(viewer);
    const include = { brokers: { select: { brokerId: true } } } as const;
    const token = await this.#db.projectToken.findUnique({ where: { id: tokenId }, include });
    return token !== null && sees(known, token) ? token : null;
  }

  /** `revoke` by a caller, who needs ADMIN in the token's project. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  async revokeAs(tokenId: string, viewer: Viewer | null): Promise<void> {
    const known = requireSignedIn(viewer);
    const select = { id: true, projectId: true } as const;
    const token = await this.#db.projectToken.findUnique({ where: { id: tokenId }, select });
    if (token === null || !sees(known, token)) throw notFound('token', tokenId);
    requireProjectRole(known, token.projectId, 'ADMIN');
    await this.revoke(tokenId);
  }

  /** Revokes at once, open subscriptions included. Errors: NOT_FOUND. */
  async revoke(tokenId: string): Promise<void> {
    const { count } = await this.#db.projectToken.deleteMany({ where: { id: tokenId } });
    if (count === 0) throw notFound('token', tokenId);
    await this.#changes.announce('token', tokenId);
  }

  async #checkBrokers(projectId: string, brokerIds: readonly string[] | null): Promise<void> {
    if (brokerIds === null) return;
    if (brokerIds.length === 0) throw invalid([{ path: 'input.brokerIds', reason: 'must name at least one broker' }]);
    const known = await this.#db.broker.findMany({
      where: { projectId, id: { in: [...brokerIds] } },
      select: { id: true },
    });
    const missing = brokerIds.find((id) => !known.some((broker) => broker.id === id));
    if (missing !== undefined) throw notFound('broker', missing);
  }
}

function sees(viewer: Viewer, { id, projectId }: { readonly id: string; readonly projectId: string }): boolean {
  return roleIn(viewer, projectId) !== null && (viewer.brokers === null || viewer.id === id);
}
