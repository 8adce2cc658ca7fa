import { connect } from 'node:tls';
import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';

const HANDSHAKE_MS = 3_000;

/** Returns the SHA-256 fingerprint (`AB:CD:…`) of the certificate that a TLS listener of this machine serves. */
export function servedFingerprint({ host, port }: ListenerWanted): Promise<string> {
  return new Promise((resolve, reject) => {
    // The listener may refuse a client without a certificate, but has sent its own by then.
    const socket = connect({ host: reachedAt(host), port, rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
      socket.destroy();
      if (fingerprint === undefined) reject(new Error('the listener showed no certificate'));
      else resolve(fingerprint);
    });
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy(new Error('the listener does not answer')));
    // `reason` is more readable than OpenSSL's message.
    socket.on('error', (error: Error & { readonly reason?: string }) =>
      reject(new Error(error.reason ?? error.message)),
    );
  });
}

const reachedAt = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);
