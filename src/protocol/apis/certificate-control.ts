import { ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from '../control/envelope.ts';
import { fieldOf, isFields, listIn } from '../control/fields.ts';
import type { ControlCaller } from '../control/plugin.ts';

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

export interface ListenerCertificates {
  readonly listenerId: number;
  readonly server: DeployedFile | null;
  readonly authorities: readonly DeployedFile[];
}

interface DeployedFile {
  readonly fileName: string;
  readonly fingerprint256: string;
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
