import type { ControlApi } from '../../protocol/control/envelope.ts';

/**
 * `certificate-management`: client authorities as commercial brokers serve them (insertCACertificate, deleteCACertificate), and beside
 * them what brokers that this service runs can do: server certificates, and telling what is there. Others answer `Unknown command`.
 *
 *   insertCACertificate     listener_id, file_name, ca_cert_pem             -> { response: 'SUCCESS' }
 *   deleteCACertificate     listener_id, file_name                          -> { response: 'SUCCESS' }
 *   setServerCertificate    listener_id, file_name, cert_pem, key_pem       -> { response: 'SUCCESS' }   (cert_pem: leaf first, then its chain)
 *   removeServerCertificate listener_id                                     -> { response: 'SUCCESS' }   (handshakes fail until the next one)
 *   listCertificates        -                                               -> { listeners: [{ listener_id, server: { file_name, fingerprint256 } | null, cas: [{ file_name, fingerprint256 }] }] }
 *
 * Refusals are sentences that name the reason: `Listener not found`, `TLS is not enabled on this listener`, `File already exists`,
 * `File not found`, `The key does not belong to the certificate`, `The certificate expired on …`.
 */
export const CERTIFICATE_API: ControlApi = 'certificate-management';

/** One of `listListeners` of the API `broker`. `id` is missing in Mosquitto 2.1, which has no certificate management either. */
export interface ListenerEntry {
  readonly id: number | null;
  readonly port: number;
  /** Null: all addresses. */
  readonly bindAddress: string | null;
  readonly protocol: 'MQTT' | 'WEBSOCKET' | 'UNIX';
  readonly tls: boolean;
  /** Null: not told. */
  readonly requireCertificate: boolean | null;
}
