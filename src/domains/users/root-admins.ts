import type { Prisma, User } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { SignInMethods } from './sign-in-methods.ts';

type Account = Pick<User, 'email' | 'isRoot' | 'passwordHash' | 'ssoType'>;

/** Finds root administrators who can sign in, so that at least one always remains. */
export class RootAdmins {
  readonly #methods: SignInMethods;
  readonly where: Prisma.UserWhereInput;

  constructor(methods: SignInMethods) {
    const { onlyEmail, providers } = methods;
    const local = onlyEmail === null ? { ssoType: null } : { email: onlyEmail };
    this.#methods = methods;
    this.where = {
      isRoot: true,
      OR: [
        { ...local, passwordHash: { not: null } },
        { email: { not: onlyEmail ?? '' }, ssoType: { in: [...providers] } },
      ],
    };
  }

  canSignIn({ email, isRoot, passwordHash, ssoType }: Account): boolean {
    const { onlyEmail, providers } = this.#methods;
    if (!isRoot) return false;
    if (email === onlyEmail || ssoType === null) return passwordHash !== null && email === (onlyEmail ?? email);
    return (providers as readonly string[]).includes(ssoType);
  }

  /** Whether this is the emergency administrator, the only user with a valid local password. */
  isForEmergencies({ email, isRoot }: Pick<Account, 'email' | 'isRoot'>): boolean {
    return isRoot && email === this.#methods.onlyEmail;
  }

  /**
   * Call it in a serializable transaction before a user loses the account, the role or the method of signing in.
   * Errors: LAST_ADMINISTRATOR if no other root administrator can sign in.
   */
  async requireOthers(tx: Prisma.TransactionClient, user: Account & Pick<User, 'id'>): Promise<void> {
    if (this.isForEmergencies(user)) throw emergencyAdministrator();
    if (!user.isRoot) return;
    if ((await tx.user.count({ where: { AND: [this.where, { id: { not: user.id } }] } })) === 0)
      throw lastAdministrator();
  }
}

const lastAdministrator = (): ServiceError =>
  new ServiceError(
    'LAST_ADMINISTRATOR',
    'This is the last root administrator who can sign in; create another one first',
  );

const emergencyAdministrator = (): ServiceError =>
  new ServiceError(
    'LAST_ADMINISTRATOR',
    'This is the emergency administrator (ROOT_EMAIL): with LOCAL_LOGIN=off its account, role and password cannot be changed',
  );
