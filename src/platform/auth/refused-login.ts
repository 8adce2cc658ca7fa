import { ServiceError } from '../errors.ts';

/** A log-in at an account that is there and was refused. Callers read what they read of any refusal; the audit tells the account. */
export class RefusedLogin extends ServiceError {
  readonly userId: string;

  constructor({ code, message, info }: ServiceError, userId: string) {
    super(code, message, info && { info });
    this.userId = userId;
  }
}
