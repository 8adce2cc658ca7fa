import { type InputIssue, ServiceError } from '../../platform/errors.ts';
import type { BrokerRecord } from './broker-cache.ts';
import type { BrokerConnectionInput } from './broker-connection.ts';

/** The sealed secrets of a broker's entry: the input field of each and its column. */
const SECRETS = { password: 'sealedPassword', clientKey: 'sealedClientKey' } as const;
const SECRET_NAMES = ['password', 'clientKey'] as const;
const AUTHORITIES = ['caCert', 'caCertFile'] as const;

/** What decides who receives a secret, and the sealed secrets themselves. */
export type StoredConnection = Pick<
  BrokerRecord,
  'url' | 'verifyCaCert' | 'caCert' | 'caCertFile' | 'sealedPassword' | 'sealedClientKey'
>;

export const connectionColumns = (stored: StoredConnection): StoredConnection => {
  const { url, verifyCaCert, caCert, caCertFile, sealedPassword, sealedClientKey } = stored;
  return { url, verifyCaCert, caCert, caCertFile, sealedPassword, sealedClientKey };
};

export type TrustInput = BrokerConnectionInput & { readonly verifyCaCert?: boolean | null | undefined };

/**
 * The stored secrets that an update would send to a receiver they were not given for. A caller who may change an address must not read
 * a secret by it, so each secret must be given again, or cleared with null, together with another address. An entry without an address
 * counts as another address. The password must also be given again for a server whose certificate is no longer verified, or is verified
 * by another authority.
 */
export function secretsForAnotherReceiver(broker: StoredConnection, input: TrustInput): InputIssue[] {
  // Without an address nothing is sent, and the secrets are deleted: see `secretsWithoutAddress`.
  if (input.url === null) return [];
  const ofAddress = isOtherAddress(broker.url, input.url) ? keptSecrets(broker, input) : [];
  if (ofAddress.length > 0) {
    return ofAddress.map((name) => ({
      path: `input.${name}`,
      reason: 'is stored for another address; give it again, or null, with the new url',
    }));
  }
  return passwordForAnotherTrust(broker, input);
}

/** Whether an update sends what this broker receives to another address, or to a server that is verified in another way. */
export const changesReceiver = (broker: StoredConnection, input: TrustInput): boolean =>
  isOtherAddress(broker.url, input.url ?? undefined) || otherTrust(broker, input) !== undefined;

export const passwordsNeedAdmin = (cluster: string): ServiceError =>
  new ServiceError(
    'NOT_ALLOWED',
    `Nodes of "${cluster}" receive the passwords that are stored for it: this requires the role ADMIN in the project`,
  );

/** The columns of stored secrets that an update deletes because the address they were given for is removed. */
export function secretsWithoutAddress(input: BrokerConnectionInput): { sealedPassword?: null; sealedClientKey?: null } {
  return input.url === null ? { sealedPassword: null, sealedClientKey: null } : {};
}

const keptSecrets = (broker: StoredConnection, input: BrokerConnectionInput) =>
  SECRET_NAMES.filter((name) => broker[SECRETS[name]] !== null && input[name] === undefined);

/** A client key never leaves this service, and a server that was not verified before could already be any server. */
function passwordForAnotherTrust(broker: StoredConnection, input: TrustInput): InputIssue[] {
  const isKept = broker.sealedPassword !== null && input.password === undefined;
  const change = otherTrust(broker, input);
  if (!isKept || change === undefined) return [];
  const reason = `is stored for a server that was verified; give it again, or null, with ${change}`;
  return [{ path: 'input.password', reason }];
}

/** The field by which another server could be trusted than the one that was verified before. */
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

/** Over WebSocket the path belongs to the address: one host may serve the brokers of several customers below different paths. */
function receiverOf(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return /^wss?:$/.test(protocol) ? `${protocol}//${host}${pathname}${search}` : `${protocol}//${host}`;
}
