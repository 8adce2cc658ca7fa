import { ServiceError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { withoutNulls } from '../../platform/without-nulls.ts';
import { certificatesProblem, privateKeyProblem } from '../../protocol/certificates/connection-pem.ts';
import type { BrokerLinkOptions } from '../../protocol/mqtt/link-options.ts';
import { isLocalHost } from '../../protocol/network/allowed-hosts.ts';
import type { BrokerRecord } from './broker-cache.ts';
import { type ConnectionRules, readConnectionFile } from './broker-connection.ts';
import { withoutAddress } from './broker-service.ts';

export interface LinkSettingsOptions {
  readonly sealer: Sealer;
  readonly rules: ConnectionRules;
  /** Name of this machine. Default: all brokers of this service run on this machine. */
  readonly host?: string;
}

/** The columns of a broker that a connection needs. */
type Connection = Pick<
  BrokerRecord,
  | 'id'
  | 'name'
  | 'type'
  | 'host'
  | 'url'
  | 'trustedUrl'
  | 'username'
  | 'sealedPassword'
  | 'verifyCaCert'
  | 'caCert'
  | 'caCertFile'
  | 'clientCert'
  | 'clientCertFile'
  | 'sealedClientKey'
  | 'clientKeyFile'
>;

type LinkSettings = Pick<
  BrokerLinkOptions,
  'url' | 'verifyCa' | 'allowedHosts' | 'inside' | 'username' | 'password' | 'ca' | 'cert' | 'key'
>;

/**
 * The address and the credentials with which a broker is connected. Errors: BROKER_UNREACHABLE without an address that
 * is valid on this machine, and those of a missing file or a secret that cannot be opened.
 */
export async function linkSettings(broker: Connection, options: LinkSettingsOptions): Promise<LinkSettings> {
  const { sealer, rules } = options;
  const { url, username, sealedPassword, sealedClientKey, verifyCaCert } = broker;
  if (url === null) throw withoutAddress(broker.name);
  requireReachableHost(broker, url, options.host);
  const open = (sealed: string | null, what: string) => sealed && sealer.open(sealed, `${broker.id}/${what}`);
  const pem = async (text: string | null, file: string | null, problemOf: (pem: string) => string | null) => {
    if (text !== null || file === null) return text;
    const found = await readConnectionFile(file, rules.filesDir);
    const problem = problemOf(found);
    if (problem !== null) throw new ServiceError('INVALID', `The file "${file}" ${problem}`);
    return found;
  };
  const ca = await pem(broker.caCert, broker.caCertFile, certificatesProblem);
  const cert = await pem(broker.clientCert, broker.clientCertFile, certificatesProblem);
  const key = await pem(open(sealedClientKey, 'clientKey'), broker.clientKeyFile, (text) => privateKeyProblem(text));
  return {
    url,
    verifyCa: verifyCaCert,
    // The address of a broker that this service runs needs no check.
    ...(broker.type === 'CLOUD' ? {} : hostsOf(rules, broker)),
    ...withoutNulls({ username, password: open(sealedPassword, 'password'), ca, cert, key }),
  };
}

/** A loopback address would lead to another broker, on this machine, which would get the password. */
function requireReachableHost({ type, name, host }: Connection, url: string, ownHost = host): void {
  if (type !== 'CLOUD' || host === null || host === ownHost || !isLocalHost(new URL(url).hostname)) return;
  throw new ServiceError(
    'BROKER_UNREACHABLE',
    `"${name}" runs on ${host}, and its address is valid on that machine only: set MQTT_HOST and MQTT_ADVERTISED_HOST of the process there`,
  );
}

const hostsOf = ({ allowedHosts, inside = 'ALL' }: ConnectionRules, { trustedUrl }: Connection) => ({
  allowedHosts,
  inside: trustedUrl ? ('ALL' as const) : inside,
});

/** The settings of a link; only changes of these cause a reconnect. */
const CONNECTION_COLUMNS: readonly (keyof BrokerRecord)[] = [
  ...(['url', 'username', 'sealedPassword', 'verifyCaCert', 'caCert', 'caCertFile'] as const),
  ...(['clientCert', 'clientCertFile', 'sealedClientKey', 'clientKeyFile'] as const),
];

/** The address of a broker of this service is valid only while it runs: another process may listen there later. */
export const isReachable = ({ type, state, url }: BrokerRecord) =>
  url !== null && (type !== 'CLOUD' || state === 'ACTIVE' || state === 'UPDATING');

/** Whether the entry is another broker now. The address of a broker of this service may change with each start. */
export const isElsewhere = ({ type, url }: BrokerRecord, previous: BrokerRecord | null): boolean =>
  type !== 'CLOUD' && previous !== null && previous.url !== url;

export const sameConnection = (a: BrokerRecord, b: BrokerRecord) =>
  isReachable(a) === isReachable(b) && CONNECTION_COLUMNS.every((column) => a[column] === b[column]);
