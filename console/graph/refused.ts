interface Details {
  readonly requestId?: string | null;
  readonly info?: Readonly<Record<string, unknown>>;
  readonly others?: readonly string[];
}

/** A refusal of the service with its code. UNREACHABLE: there was no response. */
export class RefusedError extends Error {
  readonly code: string;
  /** By which operators find the request in the log of the service. */
  readonly requestId: string | null;
  /** Further facts, as the graph describes them for the code. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Different messages of further errors of the same response. */
  readonly others: readonly string[];

  constructor(message: string, code: string, { requestId = null, info = {}, others = [] }: Details = {}) {
    super(message);
    this.code = code;
    this.requestId = requestId;
    this.info = info;
    this.others = others;
  }
}
