/** What came of trying a setting. Holds no secret. */
export interface Finding {
  /** The environment variable. */
  readonly setting: string;
  readonly works: boolean;
  /** For people: why not, what was found, what has to be so elsewhere. */
  readonly told: readonly string[];
}
