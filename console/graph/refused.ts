/** A refusal of the service with its code. UNREACHABLE: there was no response. */
export class RefusedError extends Error {
  readonly code: string;
  /** By which operators find the request in the log of the service. */
  readonly requestId: string | null;

  constructor(message: string, code: string, requestId: string | null = null) {
    super(message);
    this.code = code;
    this.requestId = requestId;
  }
}
