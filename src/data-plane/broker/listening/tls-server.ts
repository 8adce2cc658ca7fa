import { constants, randomBytes } from 'node:crypto';
import { createSecureContext, createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { CIPHERS_OF_TLS_1_2 } from '../../../protocol/certificates/ciphers.ts';

export interface TlsMaterial {
  /** `cert` is the leaf followed by its chain. `null`: all handshakes fail. */
  readonly server: { readonly cert: string; readonly key: string } | null;
  /** Authorities of client certificates. Each is trusted regardless of its issuer. */
  readonly authorities: readonly string[];
}

const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  CIPHERS_OF_TLS_1_2,
].join(':');

/** Creates a TLS server for its event `connection`. It resumes only its own sessions. Throws OpenSSL's error. */
export function createTlsServer({ server, authorities }: TlsMaterial, requireCertificate: boolean): Server {
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    // Otherwise the client chooses the cipher.
    honorCipherOrder: true,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(server === null ? {} : { cert: server.cert, key: server.key }),
    // Without a list, all public authorities would be trusted.
    ca: [...authorities],
    allowPartialTrustChain: true,
    // OpenSSL accepts at most 32 characters.
    sessionIdContext: randomBytes(16).toString('hex'),
  };
  const tlsServer = createServer({
    ...context,
    // Clients send a certificate only if the server requests it.
    requestCert: requireCertificate || authorities.length > 0,
    rejectUnauthorized: requireCertificate,
  });
  // Node 20 to 26 do not pass `allowPartialTrustChain` on. Without it, intermediate authorities are not trusted.
  return Object.assign(tlsServer, { _sharedCreds: createSecureContext(context) });
}

/** `reason`: that of OpenSSL. */
export type TlsError = Error & { readonly reason?: string };

/** Returns why the certificate of a client is refused; `null` if it is accepted, or there is none. */
export function refusalOf(socket: TLSSocket): string | null {
  return socket.authorized || !socket.getPeerX509Certificate() ? null : notAccepted(socket);
}

/** Returns why a handshake failed, in OpenSSL's words. `sslv3 alert …` is an alert of the client. */
export function failureOf(socket: TLSSocket, error: TlsError): string {
  return socket.authorizationError ? notAccepted(socket) : (error.reason ?? error.message);
}

const notAccepted = ({ authorizationError }: TLSSocket): string =>
  `the certificate is not accepted (${authorizationError})`;
