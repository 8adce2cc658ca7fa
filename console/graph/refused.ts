/** A refusal of the service with its code. UNREACHABLE: there was no response. */
export class RefusedError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}
