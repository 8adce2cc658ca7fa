import { ServiceError } from '../errors.ts';

/** A refused log-in at an existing account, which the audit records. Callers receive the usual response. */
export class RefusedLogin extends ServiceError {
  readonly userId: string;

  constructor({ code, message, info }: ServiceError, userId: string) {
    super(code, message, info && { info });
    this.userId = userId;
  }
}
