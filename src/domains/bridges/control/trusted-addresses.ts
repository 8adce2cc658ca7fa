import { createHash } from 'node:crypto';
import { type BridgeKind, connectionsOf } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { isFields } from '../../../protocol/control/fields.ts';

/*
 * Internal addresses that a root administrator entered, or that lead to a broker of this service. Stored as digests,
 * because the path of a web address may be a secret. Configurations must fit the schema of their kind.
 */

/** The digests of all addresses, or of those that are trusted. */
export function trustedOf(
  kind: BridgeKind,
  config: unknown,
  isTrusted: (digest: string, address: string) => boolean = () => true,
): string[] {
  const trusted = connectionsOf(config).flatMap((connection) => {
    const address = kind.addressOf?.(connection);
    if (address === undefined) return [];
    const digest = digestOf(kind, address);
    return isTrusted(digest, address) ? [digest] : [];
  });
  return [...new Set(trusted)];
}

/** The configuration with `isTrusted` for each connection, as it is validated and run. */
export function withTrust(kind: BridgeKind, config: unknown, trusted: ReadonlySet<string>): unknown {
  const { addressOf } = kind;
  if (!isFields(config) || addressOf === undefined) return config;
  const connections = connectionsOf(config).map((connection) =>
    isFields(connection) && trusted.has(digestOf(kind, addressOf(connection)))
      ? { ...connection, isTrusted: true }
      : connection,
  );
  return { ...config, connections };
}

const digestOf = ({ id }: BridgeKind, address: string): string =>
  createHash('sha256').update(`${id}\n${address}`).digest('base64url');
