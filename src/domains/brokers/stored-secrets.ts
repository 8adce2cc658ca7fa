import { type InputIssue, ServiceError } from '../../platform/errors.ts';
import type { BrokerRecord } from './broker-cache.ts';
import type { BrokerConnectionInput } from './broker-connection.ts';

export const SECRETS = { password: 'sealedPassword', clientKey: 'sealedClientKey' } as const;
const SECRET_NAMES = ['password', 'clientKey'] as const;
const AUTHORITIES = ['caCert', 'caCertFile'] as const;

/** The settings that decide which server receives the secrets, and the sealed secrets. */
type StoredConnection = Pick<
  BrokerRecord,
  'url' | 'verifyCaCert' | 'caCert' | 'caCertFile' | 'sealedPassword' | 'sealedClientKey'
>;

export const connectionColumns = (stored: StoredConnection): StoredConnection => {
  const { url, verifyCaCert, caCert, caCertFile, sealedPassword, sealedClientKey } = stored;
  return { url, verifyCaCert, caCert, caCertFile, sealedPassword, sealedClientKey };
};

type TrustInput = BrokerConnectionInput & { readonly verifyCaCert?: boolean | null | undefined };

/**
 * The stored secrets that an update would send to another receiver, so that a caller who may change the address cannot
 * read them. Each secret must be given again, or cleared with null, when the address changes. The password must also be
 * given again if the server's certificate is no longer verified, or another authority verifies it.
 */
export function secretsForAnotherReceiver(broker: StoredConnection, input: TrustInput): InputIssue[] {
  // Without an address the secrets are deleted: see `secretsWithoutAddress`.
  if (input.url === null) return [];
  const unchanged = SECRET_NAMES.filter((name) => broker[SECRETS[name]] !== null && input[name] === undefined);
  if (unchanged.length > 0 && isOtherAddress(broker.url, input.url)) {
    const reason = 'is stored for another address; give it again, or null, with the new url';
    return unchanged.map((name) => ({ path: `input.${name}`, reason }));
  }
  // Only the password: a client key is never sent. A server that was not verified before could already be any server.
  const change = otherTrust(broker, input);
  if (!unchanged.includes('password') || change === undefined) return [];
  const reason = `is stored for a server that was verified; give it again, or null, with ${change}`;
  return [{ path: 'input.password', reason }];
}

export const changesReceiver = (broker: StoredConnection, input: TrustInput): boolean =>
  isOtherAddress(broker.url, input.url ?? undefined) || otherTrust(broker, input) !== undefined;

export const passwordsNeedAdmin = (cluster: string): ServiceError =>
  new ServiceError(
    'NOT_ALLOWED',
    `Nodes of "${cluster}" receive the passwords that are stored for it: changing their address requires the role ADMIN in the project`,
  );

/** Deletes the stored secrets together with the address for which they were given. */
export function secretsWithoutAddress(input: BrokerConnectionInput): { sealedPassword?: null; sealedClientKey?: null } {
  return input.url === null ? { sealedPassword: null, sealedClientKey: null } : {};
}

function otherTrust(
  broker: StoredConnection,
  input: TrustInput,
): 'verifyCaCert' | (typeof AUTHORITIES)[number] | undefined {
  if (!broker.verifyCaCert || !/^(mqtts|wss):/i.test(broker.url ?? '')) return undefined;
  const isOther = (name: (typeof AUTHORITIES)[number]) => input[name] !== undefined && input[name] !== broker[name];
  return input.verifyCaCert === false ? 'verifyCaCert' : AUTHORITIES.find(isOther);
}

function isOtherAddress(stored: string | null, given: string | undefined): boolean {
  if (given === undefined) return false;
  return stored === null || receiverOf(stored) !== receiverOf(given);
}

/** With WebSocket the path is a part of the address: one host may serve brokers of several customers. */
function receiverOf(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return /^wss?:$/.test(protocol) ? `${protocol}//${host}${pathname}${search}` : `${protocol}//${host}`;
}
