/** A refusal of the service with its code. UNREACHABLE: there was no response. */
export class RefusedError extends Error {
  readonly code: string;
  /** By which operators find the request in the log of the service. */
  readonly requestId: string | null;
  /** Further facts, as the graph describes them for the code. */
  readonly info: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    code: string,
    requestId: string | null = null,
    info: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.code = code;
    this.requestId = requestId;
    this.info = info;
  }
}
