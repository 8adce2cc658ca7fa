import { ServiceError } from '../errors.ts';
import type { Prisma } from '../generated/sqlite/client.ts';

/** Root administrators who can sign in: with a password of this service, or elsewhere. */
export const WITH_A_WAY_IN = {
  isRoot: true,
  OR: [{ passwordHash: { not: null } }, { ssoType: { not: null } }],
} as const satisfies Prisma.UserWhereInput;

/** How many of these there are but for one person. Within a serializable transaction it stays so. */
export const waysInBeside = (tx: Prisma.TransactionClient, userId: string): Promise<number> =>
  tx.user.count({ where: { ...WITH_A_WAY_IN, id: { not: userId } } });

export const lastAdministrator = (): ServiceError =>
  new ServiceError(
    'LAST_ADMINISTRATOR',
    'Without this account no root administrator could sign in; make another one first',
  );
