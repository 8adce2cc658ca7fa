import { ServiceError } from '../errors.ts';

/**
 * A refused log-in at an existing account. The response to the caller is the usual one; the audit records the account.
 */
export class RefusedLogin extends ServiceError {
  readonly userId: string;

  constructor({ code, message, info }: ServiceError, userId: string) {
    super(code, message, info && { info });
    this.userId = userId;
  }
}
