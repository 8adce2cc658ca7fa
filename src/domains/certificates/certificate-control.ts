import { ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import { fieldOf, isFields } from '../../protocol/control/fields.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';

/**
 * `certificate-management`. Commercial brokers support insertCACertificate and deleteCACertificate. Brokers that this
 * service runs support all commands. Other brokers respond `Unknown command`.
 *
 * insertCACertificate     listener_id, file_name, ca_cert_pem        -> { response: 'SUCCESS' }
 * deleteCACertificate     listener_id, file_name                     -> { response: 'SUCCESS' }
 * setServerCertificate    listener_id, file_name, cert_pem, key_pem  -> { response: 'SUCCESS' }
 * removeServerCertificate listener_id                                -> { response: 'SUCCESS' }
 * listCertificates        -                                          -> { listeners: [{ listener_id, server, cas }] }
 *
 * `cert_pem` has the leaf certificate, followed by its chain. `server` is { file_name, fingerprint256 } or null, and
 * `cas` is a list of the same. After removeServerCertificate the listener fails each handshake.
 *
 * A refusal is a sentence with the reason: `Listener not found`, `TLS is not enabled on this listener`, `File already
 * exists`, `File not found`, `The key does not belong to the certificate`, `The certificate expired on …`.
 */
export const CERTIFICATE_API: ControlApi = 'certificate-management';

/** An entry of `listListeners`. Mosquitto 2.1 reports no `id`. */
export interface ListenerEntry {
  readonly id: number | null;
  readonly port: number;
  readonly bindAddress: string | null;
  readonly protocol: 'MQTT' | 'WEBSOCKET';
  readonly tls: boolean;
  readonly requireCertificate: boolean | null;
}

export interface ListenerCertificates {
  readonly listenerId: number;
  readonly server: DeployedFile | null;
  readonly authorities: readonly DeployedFile[];
}

interface DeployedFile {
  readonly fileName: string;
  readonly fingerprint256: string;
}

const MAX_LISTENERS = 1_000;

/** Without Unix domain sockets, which do not use TLS. */
export async function listListeners(caller: ControlCaller): Promise<ListenerEntry[]> {
  const data = await caller.call('broker', 'listListeners');
  return listIn(data, 'listeners')
    .slice(0, MAX_LISTENERS)
    .map(readListener)
    .filter((entry) => entry !== null);
}

type Command = 'insertCACertificate' | 'deleteCACertificate' | 'setServerCertificate' | 'removeServerCertificate';

/** Errors: those of ControlCaller, without PEM in their messages. */
export const changeListener = (
  caller: ControlCaller,
  command: Command,
  listenerId: number,
  fields: Readonly<Record<string, string>> = {},
): Promise<unknown> => call(caller, command, { listener_id: listenerId, ...fields });

/** Returns `null` if the broker does not support the command, like commercial brokers. */
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

export const isMissingFile = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_FOUND' && /\bfile\b/i.test(String(error.info?.brokerError));

/** Whether the response was lost, so that the command may have been executed. */
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

/** Removes PEM from an error, because a broker may repeat the request. */
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

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function readListener(value: unknown): ListenerEntry | null {
  if (!isFields(value)) return null;
  const either = (...names: string[]) => names.map((name) => fieldOf(value, name)).find((found) => found !== undefined);
  const port = fieldOf(value, 'port');
  if (!isWhole(port, MAX_PORT) || port === 0) return null;
  const [id, requires] = [fieldOf(value, 'id'), either('require-certificate', 'require_certificate')];
  const bindAddress = either('bind-address', 'bind_address');
  return {
    id: isWhole(id, MAX_ID) ? id : null,
    port,
    bindAddress: textOf(bindAddress) || null,
    protocol: /websocket/i.test(textOf(fieldOf(value, 'protocol'))) ? 'WEBSOCKET' : 'MQTT',
    tls: fieldOf(value, 'tls') === true,
    requireCertificate: typeof requires === 'boolean' ? requires : null,
  };
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
