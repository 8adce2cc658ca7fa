import type { InputIssue } from '../../errors.ts';

/** A JSON Schema (2020-12). Secrets are marked `writeOnly: true`, and every property has a `description`. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The control API of a bridge. */
export type BridgeApi = `cedalo/${string}-bridge`;

/** A kind of bridge that this service runs: what can be said of it without running it. */
export interface BridgeKind {
  /** As `mqtt-bridge`; the id of the bridge in the graph and in paths. */
  readonly id: string;
  /** As `cedalo/mqtt-bridge`. */
  readonly api: BridgeApi;
  readonly name: string;
  readonly schema: JsonSchema;
  /** The configuration of one that was never configured: no connections. */
  readonly empty: unknown;
  /** What the schema cannot say, of a configuration that fits it; paths are JSON pointers into it. */
  check(config: unknown, rules: BridgeRules): readonly InputIssue[];
}

/** What the operator allows. */
export interface BridgeRules {
  /** Where connections may lead to; see AllowedHosts. */
  readonly allowedHosts: readonly string[];
}
