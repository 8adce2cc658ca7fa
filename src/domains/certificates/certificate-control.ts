import { ServiceError } from '../../platform/errors.ts';
import { fieldOf, isFields } from '../../protocol/control/fields.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import { CERTIFICATE_API, type ListenerEntry } from './certificate-commands.ts';

/*
 * Typed commands of `certificate-management`, and `listListeners` of the API `broker`. Answers are any broker's: entries that cannot be
 * read are left out. Errors: those of ControlCaller, with texts that hold no PEM.
 */

/** What a listener uses, as brokers that this service runs tell it. */
export interface ListenerCertificates {
  readonly listenerId: number;
  readonly server: DeployedFile | null;
  readonly authorities: readonly DeployedFile[];
}

export interface DeployedFile {
  readonly fileName: string;
  /** As node:crypto writes it: `AB:CD:…`. */
  readonly fingerprint256: string;
}

/** More than any broker has. */
const MAX_LISTENERS = 1_000;

/** Sockets of the file system are left out: nobody speaks TLS there. */
export async function listListeners(caller: ControlCaller): Promise<ListenerEntry[]> {
  const data = await caller.call('broker', 'listListeners');
  return listIn(data, 'listeners')
    .slice(0, MAX_LISTENERS)
    .map(readListener)
    .filter((entry) => entry !== null && entry.protocol !== 'UNIX') as ListenerEntry[];
}

export async function insertAuthority(
  caller: ControlCaller,
  listenerId: number,
  fileName: string,
  pem: string,
): Promise<void> {
  await call(caller, 'insertCACertificate', { listener_id: listenerId, file_name: fileName, ca_cert_pem: pem });
}

export async function deleteAuthority(caller: ControlCaller, listenerId: number, fileName: string): Promise<void> {
  await call(caller, 'deleteCACertificate', { listener_id: listenerId, file_name: fileName });
}

export interface ServerFiles {
  readonly fileName: string;
  /** Leaf first, then its chain. */
  readonly cert: string;
  readonly key: string;
}

export async function setServerCertificate(
  caller: ControlCaller,
  listenerId: number,
  { fileName, cert, key }: ServerFiles,
): Promise<void> {
  const fields = { listener_id: listenerId, file_name: fileName, cert_pem: cert, key_pem: key };
  await call(caller, 'setServerCertificate', fields);
}

export async function removeServerCertificate(caller: ControlCaller, listenerId: number): Promise<void> {
  await call(caller, 'removeServerCertificate', { listener_id: listenerId });
}

/** Null: the broker does not tell, as commercial ones. */
export async function listCertificates(caller: ControlCaller): Promise<ListenerCertificates[] | null> {
  try {
    const data = await call(caller, 'listCertificates', {});
    return listIn(data, 'listeners')
      .map(readCertificates)
      .filter((entry) => entry !== null);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return null;
    throw error;
  }
}

/** Whether what a broker refused is about a file that it does not have. */
export const isMissingFile = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_FOUND' && /\bfile\b/i.test(String(error.info?.brokerError));

/** The command may have been done: its answer was lost. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const { code, info } = error;
  return info?.outcome === 'unknown' || (code === 'BROKER_TIMEOUT' && info?.outcome === undefined);
}

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>>) {
  try {
    return await caller.call(CERTIFICATE_API, command, fields);
  } catch (error) {
    throw withoutPem(error);
  }
}

const PEM = /-----BEGIN[\s\S]*?(?:-----END[A-Z0-9 ]*-----|$)/g;

/** A broker may repeat what it was sent. */
function withoutPem(error: unknown): unknown {
  if (!(error instanceof ServiceError) || !String(error.info?.brokerError).includes('-----BEGIN')) return error;
  const info = { ...error.info, brokerError: String(error.info?.brokerError).replace(PEM, '***') };
  return new ServiceError(error.code, error.message.replace(PEM, '***'), { info });
}

const listIn = (data: unknown, key: string): readonly unknown[] => {
  const list = isFields(data) ? fieldOf(data, key) : undefined;
  return Array.isArray(list) ? list : [];
};

const MAX_PORT = 65_535;
const MAX_ID = 2_147_483_647;

const isWhole = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;

function readListener(value: unknown): ListenerEntry | null {
  if (!isFields(value)) return null;
  const either = (...names: string[]) => names.map((name) => fieldOf(value, name)).find((found) => found !== undefined);
  const port = fieldOf(value, 'port');
  if (!isWhole(port, MAX_PORT)) return null;
  const [id, requires] = [fieldOf(value, 'id'), either('require-certificate', 'require_certificate')];
  const bindAddress = either('bind-address', 'bind_address');
  return {
    id: isWhole(id, MAX_ID) ? id : null,
    port,
    bindAddress: typeof bindAddress === 'string' && bindAddress !== '' ? bindAddress : null,
    protocol: protocolOf(fieldOf(value, 'protocol'), port),
    tls: fieldOf(value, 'tls') === true,
    requireCertificate: typeof requires === 'boolean' ? requires : null,
  };
}

function protocolOf(text: unknown, port: number): ListenerEntry['protocol'] {
  if (port === 0) return 'UNIX';
  return typeof text === 'string' && /websocket/i.test(text) ? 'WEBSOCKET' : 'MQTT';
}

function readCertificates(value: unknown): ListenerCertificates | null {
  const listenerId = isFields(value) ? fieldOf(value, 'listener_id') : undefined;
  if (!isFields(value) || typeof listenerId !== 'number') return null;
  return {
    listenerId,
    server: readFile(fieldOf(value, 'server')),
    authorities: listIn(value, 'cas')
      .map(readFile)
      .filter((file) => file !== null),
  };
}

function readFile(value: unknown): DeployedFile | null {
  if (!isFields(value)) return null;
  const [fileName, fingerprint256] = [fieldOf(value, 'file_name'), fieldOf(value, 'fingerprint256')];
  return typeof fileName === 'string' && typeof fingerprint256 === 'string' ? { fileName, fingerprint256 } : null;
}
