import type { InputIssue } from '../../../platform/errors.ts';
import { AllowedHosts, type InsideRule } from '../../../protocol/network/allowed-hosts.ts';

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
  /** Where a connection of a configuration that fits the schema leads to: equal texts lead to the same place. Absent: nowhere outside. */
  addressOf?(connection: unknown): string;
}

/** What the operator allows. */
export interface BridgeRules {
  /** Where connections may lead to; see AllowedHosts. */
  readonly allowedHosts: readonly string[];
  /** Of databases and web addresses. Default: ALL. */
  readonly inside?: InsideRule;
  /** Of other brokers. Default: ALL. */
  readonly insideBrokers?: InsideRule;
  /** Maximum size of the queues of all bridges on disk, in bytes; see QueueStorage. Default: unlimited. */
  readonly storageMaxBytes?: number;
}

/** What a connection has in a configuration that is about to be checked or run; stored configurations and the schema have none of it. */
export interface TrustedConnection {
  /** Whether a root administrator entered its address, which may then lead to this machine and its link. Default: false. */
  readonly isTrusted?: boolean;
}

/** Where a database or web address may be. */
export const sinkHosts = ({ allowedHosts, inside }: BridgeRules, { isTrusted }: TrustedConnection): AllowedHosts =>
  new AllowedHosts(allowedHosts, isTrusted ? 'ALL' : inside);

/** Where another broker may be. */
export const brokerHosts = (
  { allowedHosts, insideBrokers = 'ALL' }: BridgeRules,
  { isTrusted }: TrustedConnection,
): { readonly allowedHosts: readonly string[]; readonly inside: InsideRule } => ({
  allowedHosts,
  inside: isTrusted ? 'ALL' : insideBrokers,
});

/** One spelling of a URL; what is none stays as it is. */
export const hrefOf = (text: string): string => (URL.canParse(text) ? new URL(text).href : text);
