import type { ControlApi } from '../../protocol/control/envelope.ts';

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

/** An entry of `listListeners` of the API `broker`. Mosquitto 2.1 reports no `id`. */
export interface ListenerEntry {
  readonly id: number | null;
  readonly port: number;
  readonly bindAddress: string | null;
  readonly protocol: 'MQTT' | 'WEBSOCKET' | 'UNIX';
  readonly tls: boolean;
  /** `null` if the broker does not report it. */
  readonly requireCertificate: boolean | null;
}
