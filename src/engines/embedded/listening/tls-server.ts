import { constants, randomBytes } from 'node:crypto';
import { createSecureContext, createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { CIPHERS_OF_TLS_1_2 } from '../../../domains/certificates/material/ciphers.ts';

/** What a TLS listener uses; PEM texts. */
export interface TlsMaterial {
  /** Null: every handshake fails. `cert`: leaf first, then its chain. */
  readonly server: { readonly cert: string; readonly key: string } | null;
  /** Who may issue clients' certificates; each trusted by itself, whoever issued it. */
  readonly authorities: readonly string[];
}

const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  CIPHERS_OF_TLS_1_2,
].join(':');

/**
 * Shakes hands on connections that it is given by its event `connection`; it does not listen itself. Its sessions are its own:
 * a session that began at another one is not resumed, so whoever comes is checked by what this one trusts.
 * Errors: OpenSSL's, where the material cannot be used.
 */
export function createTlsServer(
  { server, authorities }: TlsMaterial,
  { requireCertificate }: { readonly requireCertificate: boolean },
): Server {
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    // Else the client's wish counts.
    honorCipherOrder: true,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(server === null ? {} : { cert: server.cert, key: server.key }),
    // An empty list, because without one every public authority would be trusted.
    ca: [...authorities],
    allowPartialTrustChain: true,
    // 32 characters is the most that OpenSSL takes.
    sessionIdContext: randomBytes(16).toString('hex'),
  };
  const made = createServer({
    ...context,
    // Who is not asked keeps its certificate to itself, and gets in where none is needed.
    requestCert: requireCertificate || authorities.length > 0,
    rejectUnauthorized: requireCertificate,
  });
  // Node 20 does not hand `allowPartialTrustChain` on to the context of a server; without it authorities below others are not trusted.
  return Object.assign(made, { _sharedCreds: createSecureContext(context) });
}

/** Why the certificate of a client is none to come in with; null: it is, or there is none. */
export function refusalOf(socket: TLSSocket): string | null {
  return socket.authorized || !socket.getPeerX509Certificate() ? null : notAccepted(socket);
}

/** Why a handshake failed: in OpenSSL's words, of which `sslv3 alert certificate unknown` is what the client said. */
export function failureOf(socket: TLSSocket, error: Error & { readonly reason?: string }): string {
  return socket.authorizationError ? notAccepted(socket) : (error.reason ?? error.message);
}

const notAccepted = ({ authorizationError }: TLSSocket): string =>
  `the certificate is not accepted (${authorizationError})`;
