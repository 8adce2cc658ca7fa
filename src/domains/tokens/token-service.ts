import type { Prisma, ProjectToken } from '../../generated/sqlite/client.ts';
import { hashSecret, newSecret } from '../../platform/auth/secrets.ts';
import {
  requireNoToken,
  requireProjectRole,
  requireSignedIn,
  roleIn,
  roleIncludes,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { invalid, notFound, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { RowLock } from '../../platform/storage/postgresql/row-lock.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { checkedRotation, checkedToken, type NewToken, type Rotation } from './token-input.ts';

export interface IssuedToken {
  readonly token: ProjectToken;
  readonly secret: string;
}

/** Maximum number of tokens of a project. Beyond it a program probably creates tokens without revoking them. */
const MAX_TOKENS = 1_000;

const TOKEN_KEY = { id: true, projectId: true } as const;

type TokenKey = Pick<ProjectToken, 'id' | 'projectId'>;

export class TokenService {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #lock: RowLock;

  constructor({ db, changes }: { readonly db: Database; readonly changes: Changes }) {
    this.#db = db;
    this.#changes = changes;
    this.#lock = new RowLock(db);
  }

  /** Errors: INVALID, NOT_ALLOWED (a higher role than the issuer's; project tokens), NOT_FOUND (project, broker). */
  async create(input: NewToken, issuer: Viewer): Promise<IssuedToken> {
    requireProjectRole(issuer, input.projectId, 'ADMIN');
    const held = roleIn(issuer, input.projectId);
    if (held === null || !roleIncludes(held, input.role)) {
      throw new ServiceError('NOT_ALLOWED', 'A token cannot have a higher role than its issuer');
    }
    requireNoToken(issuer);
    return this.issue(input, issuer.name);
  }

  /** `create` without checks of the issuer, for the operator at the command line. */
  async issue(input: NewToken, issuer: string): Promise<IssuedToken> {
    const { name, brokerIds, validUntil } = checkedToken(input);
    const { projectId, role } = input;
    const secret = newSecret('projectToken');
    const data = {
      id: newId('token'),
      projectId,
      name,
      role,
      type: brokerIds === null ? 'UNRESTRICTED' : 'RESTRICTED',
      issuer,
      validUntil,
      tokenHash: hashSecret(secret),
      brokers: { create: (brokerIds ?? []).map((brokerId) => ({ brokerId })) },
    } as const;
    const token = await this.#lock.run('Project', projectId, async (tx) => {
      if (brokerIds !== null) await checkBrokers(tx, projectId, brokerIds);
      if ((await tx.projectToken.count({ where: { projectId } })) >= MAX_TOKENS) {
        const reason = `has ${MAX_TOKENS} tokens, the maximum; revoke others first`;
        throw invalid([{ path: 'input.projectId', reason }]);
      }
      return tx.projectToken.create({ data });
    });
    return { token, secret };
  }

  /** The token, or `null` if it does not exist. Errors: UNAUTHORIZED, NOT_FOUND (not visible to the viewer). */
  async findVisible(tokenId: string, viewer: Viewer | null): Promise<TokenKey | null> {
    const known = requireSignedIn(viewer);
    const token = await this.#db.projectToken.findUnique({ where: { id: tokenId }, select: TOKEN_KEY });
    if (token !== null && !sees(known, token)) throw new OutOfSight('token', tokenId);
    return token;
  }

  /**
   * Requires the ADMIN role in the project of the token, which must be `projectId` if given. Errors: UNAUTHORIZED,
   * NOT_FOUND, NOT_ALLOWED.
   */
  async requireAdmin(tokenId: string, viewer: Viewer | null, projectId?: string | null): Promise<Viewer> {
    const token = await this.findVisible(tokenId, viewer);
    if (token === null || (projectId != null && token.projectId !== projectId)) throw notFound('token', tokenId);
    return requireProjectRole(viewer, token.projectId, 'ADMIN');
  }

  async revoke(tokenId: string): Promise<void> {
    const { count } = await this.#db.projectToken.deleteMany({ where: { id: tokenId } });
    if (count === 0) throw notFound('token', tokenId);
    await this.#changes.announce('token', tokenId);
  }

  /**
   * The previous secret remains valid for a while, so that programs can be updated one after the other. An older secret
   * expires immediately. Errors: NOT_FOUND, INVALID.
   */
  async rotate(tokenId: string, input: Rotation): Promise<IssuedToken> {
    const secret = newSecret('projectToken');
    const token = await serializable(this.#db, async (tx) => {
      const before = await tx.projectToken.findUnique({ where: { id: tokenId } });
      if (before === null) throw notFound('token', tokenId);
      const { validUntil, previousValidUntil } = checkedRotation(before, input);
      const previousHash = previousValidUntil === null ? null : before.tokenHash;
      const data = { tokenHash: hashSecret(secret), previousHash, previousValidUntil, validUntil };
      return tx.projectToken.update({ where: { id: tokenId }, data });
    }).catch(missingAsNotFound('token', tokenId));
    await this.#changes.announce('token', tokenId);
    return { token, secret };
  }
}

async function checkBrokers(
  db: Prisma.TransactionClient,
  projectId: string,
  brokerIds: readonly string[],
): Promise<void> {
  const known = await db.broker.findMany({ where: { projectId, id: { in: [...brokerIds] } }, select: { id: true } });
  const missing = brokerIds.find((id) => !known.some((broker) => broker.id === id));
  if (missing !== undefined) throw notFound('broker', missing);
}

/** Of one project, whose tokens the viewer may see: a token that is restricted to brokers sees only itself. */
export function visibleTokens(viewer: Viewer | null): Prisma.ProjectTokenWhereInput {
  const { id, brokers } = requireSignedIn(viewer);
  return brokers === null ? {} : { id };
}

function sees(viewer: Viewer, { id, projectId }: TokenKey): boolean {
  return roleIn(viewer, projectId) !== null && (viewer.brokers === null || viewer.id === id);
}
