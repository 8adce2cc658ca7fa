import type { Prisma, User } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { SignInProvider } from './user-service.ts';

/** How people can sign in, as the service is set up. */
export interface WaysIn {
  /** In lower case: the only person who may use a password of this service, for emergencies. Null: everybody who has one. */
  readonly onlyEmail: string | null;
  /** Where people sign in instead. */
  readonly providers: readonly SignInProvider[];
}

type Account = Pick<User, 'email' | 'isRoot' | 'passwordHash' | 'ssoType'>;

/** Which root administrators there are who can sign in. */
export class RootAdmins {
  readonly #ways: WaysIn;
  /** Selects those who can sign in. */
  readonly where: Prisma.UserWhereInput;

  constructor(ways: WaysIn) {
    const { onlyEmail, providers } = ways;
    const here = onlyEmail === null ? { ssoType: null } : { email: onlyEmail };
    this.#ways = ways;
    this.where = {
      isRoot: true,
      OR: [
        { ...here, passwordHash: { not: null } },
        { email: { not: onlyEmail ?? '' }, ssoType: { in: [...providers] } },
      ],
    };
  }

  /** As `where` selects. */
  canSignIn({ email, isRoot, passwordHash, ssoType }: Account): boolean {
    const { onlyEmail, providers } = this.#ways;
    if (!isRoot) return false;
    if (email === onlyEmail || ssoType === null) return passwordHash !== null && email === (onlyEmail ?? email);
    return (providers as readonly string[]).includes(ssoType);
  }

  /** The one whose password is good while those of all others are not: stays as it is. */
  isForEmergencies({ email, isRoot }: Pick<Account, 'email' | 'isRoot'>): boolean {
    return isRoot && email === this.#ways.onlyEmail;
  }

  /**
   * Before the account, the role or the way to sign in is taken from somebody. Within a serializable transaction it stays so.
   * Errors: LAST_ADMINISTRATOR.
   */
  async requireOthers(tx: Prisma.TransactionClient, user: Account & Pick<User, 'id'>): Promise<void> {
    if (this.isForEmergencies(user)) throw administratorForEmergencies();
    if (!user.isRoot) return;
    if ((await tx.user.count({ where: { AND: [this.where, { id: { not: user.id } }] } })) === 0)
      throw lastAdministrator();
  }
}

const lastAdministrator = (): ServiceError =>
  new ServiceError(
    'LAST_ADMINISTRATOR',
    'Without this account no root administrator could sign in; make another one first',
  );

const administratorForEmergencies = (): ServiceError =>
  new ServiceError(
    'LAST_ADMINISTRATOR',
    'This is the administrator for emergencies (ROOT_EMAIL): with LOCAL_LOGIN=off account, role and password stay',
  );
