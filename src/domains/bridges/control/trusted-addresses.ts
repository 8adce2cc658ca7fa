import { createHash } from 'node:crypto';
import { isFields } from '../../../protocol/control/fields.ts';
import { type BridgeKind, connectionsOf } from '../model/bridge-kind.ts';

/*
 * Addresses that a root administrator entered, which may be internal. Stored as digests, because the path of a web
 * address may be a secret. Configurations must fit the schema of their kind.
 */

export const addressesOf = (kind: BridgeKind, config: unknown): readonly string[] => [
  ...new Set(connectionsOf(config).flatMap((connection) => digestOf(kind, connection) ?? [])),
];

/** The configuration with `isTrusted` for each connection, as it is validated and run. */
export function withTrust(kind: BridgeKind, config: unknown, trusted: ReadonlySet<string>): unknown {
  if (!isFields(config) || kind.addressOf === undefined) return config;
  const connections = connectionsOf(config).map((connection) => {
    const digest = digestOf(kind, connection);
    return digest !== null && trusted.has(digest) && isFields(connection)
      ? { ...connection, isTrusted: true }
      : connection;
  });
  return { ...config, connections };
}

function digestOf({ id, addressOf }: BridgeKind, connection: unknown): string | null {
  if (addressOf === undefined) return null;
  return createHash('sha256')
    .update(`${id}\n${addressOf(connection)}`)
    .digest('base64url');
}
