import type { InputIssue } from '../../../platform/errors.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { AllowedHosts, type InsideRule } from '../../../protocol/network/allowed-hosts.ts';

/** A JSON Schema (2020-12). Secrets are marked `writeOnly: true`, and every property has a `description`. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type BridgeApi = `cedalo/${string}-bridge`;

export interface BridgeKind {
  readonly id: string;
  readonly api: BridgeApi;
  readonly name: string;
  readonly schema: JsonSchema;
  /** The configuration without connections, for a bridge that was never configured. */
  readonly empty: unknown;
  /** Checks what the schema cannot express. Paths are JSON pointers into the configuration. */
  check(config: unknown, rules: BridgeRules): readonly InputIssue[];
  /** Equal texts lead to the same place. Absent if connections stay inside the broker. */
  addressOf?(connection: unknown): string;
}

export interface BridgeRules {
  readonly allowedHosts: readonly string[];
  /** The rule for internal addresses. Default: ALL. */
  readonly inside?: InsideRule;
  /** Maximum size of the queues of all bridges on disk, in bytes; see QueueStorage. Default: unlimited. */
  readonly storageMaxBytes?: number;
}

/** Added to a connection while its configuration is validated or run; never stored. */
export interface TrustedConnection {
  /** Whether its address may be internal, see trusted-addresses.ts. Default: false. */
  readonly isTrusted?: boolean;
}

export const hostRules = (
  { allowedHosts, inside = 'ALL' }: BridgeRules,
  { isTrusted }: TrustedConnection,
): { readonly allowedHosts: readonly string[]; readonly inside: InsideRule } => ({
  allowedHosts,
  inside: isTrusted ? 'ALL' : inside,
});

export function hostsOf(rules: BridgeRules, connection: TrustedConnection): AllowedHosts {
  const { allowedHosts, inside } = hostRules(rules, connection);
  return new AllowedHosts(allowedHosts, inside);
}

export const connectionsOf = (config: unknown): readonly unknown[] =>
  isFields(config) && Array.isArray(config.connections) ? config.connections : [];

export const textSchema = (description: string, bounds: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...bounds,
});
export const flagSchema = (description: string, isDefault: boolean): JsonSchema => ({
  type: 'boolean',
  description,
  default: isDefault,
});
export const integerSchema = (
  description: string,
  [minimum, maximum]: readonly [minimum: number, maximum: number],
  usual: number,
): JsonSchema => ({ type: 'integer', description, minimum, maximum, default: usual });

export const configSchema = (title: string, texts: { whole: string; connections: string }, connection: JsonSchema) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title,
  description: texts.whole,
  type: 'object',
  additionalProperties: false,
  required: ['connections'],
  properties: {
    connections: { type: 'array', maxItems: 100, items: connection, description: texts.connections },
  },
});

export const hrefOf = (text: string): string => (URL.canParse(text) ? new URL(text).href : text);
