import { addressOf } from '../ui/broker-address.ts';

/** What a form for the connection to a broker contains. Texts that were not entered are empty. */
export interface ConnectionInput {
  readonly name: string;
  readonly description: string;
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly caCert: string;
  readonly clientCert: string;
  readonly clientKey: string;
  readonly verifyCaCert: boolean;
  readonly allowsClientTakeover: boolean;
  readonly bindsSessionsToAccounts: boolean;
  /** Whether the stored password is deleted. */
  readonly dropsPassword: boolean;
  /** Whether the stored certificates and the key are deleted. */
  readonly dropsCertificates: boolean;
}

export const NEW_CONNECTION: ConnectionInput = {
  name: '',
  description: '',
  url: '',
  username: '',
  password: '',
  caCert: '',
  clientCert: '',
  clientKey: '',
  verifyCaCert: true,
  allowsClientTakeover: false,
  bindsSessionsToAccounts: false,
  dropsPassword: false,
  dropsCertificates: false,
};

export const withoutSecrets = (input: ConnectionInput): ConnectionInput => ({ ...input, password: '', clientKey: '' });

const TEXTS = ['name', 'description', 'url', 'username', 'password', 'caCert', 'clientCert', 'clientKey'] as const;
const CERTIFICATES = ['caCert', 'clientCert', 'clientKey'] as const;
const CHOICES = ['verifyCaCert', 'allowsClientTakeover', 'bindsSessionsToAccounts'] as const;

type Changes = Partial<Record<(typeof TEXTS)[number], string | null> & Record<(typeof CHOICES)[number], boolean>>;

/** The fields that differ, as the mutations take them. An empty text clears a field, except the name. */
export function changesOf(before: ConnectionInput, after: ConnectionInput): Changes {
  const changes: Changes = {};
  for (const key of TEXTS) {
    if (after[key] !== before[key]) changes[key] = after[key] === '' && key !== 'name' ? null : after[key];
  }
  if (typeof changes.url === 'string') changes.url = addressOf(changes.url, { scheme: 'mqtt', port: 1883 });
  for (const key of CHOICES) {
    if (after[key] !== before[key]) changes[key] = after[key];
  }
  if (after.dropsPassword) changes.password ??= null;
  if (after.dropsCertificates) for (const key of CERTIFICATES) changes[key] ??= null;
  return changes;
}

/** What a test of a new connection needs. */
export function testOf(input: ConnectionInput) {
  const { url } = changesOf(NEW_CONNECTION, input);
  const { username, password, caCert, clientCert, clientKey, verifyCaCert } = input;
  const given = Object.entries({ username, password, caCert, clientCert, clientKey }).filter(([, text]) => text !== '');
  return { url: url ?? null, verifyCaCert, ...Object.fromEntries(given) };
}

const WITHOUT_RECONNECT: readonly string[] = ['name', 'description', 'allowsClientTakeover', 'bindsSessionsToAccounts'];

/** Whether the service must connect again. */
export const reconnects = (changes: Changes): boolean =>
  Object.keys(changes).some((key) => !WITHOUT_RECONNECT.includes(key));
