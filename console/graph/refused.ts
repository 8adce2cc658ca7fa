/** A refusal of the service with its code. UNREACHABLE: there was no answer. */
export class RefusedError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}
