import type { RefusalReason } from './refusal.ts';

/** Parts of the error texts of OpenSSL and Node.js. The first match counts: an alert of the client names its reason. */
const REASONS: readonly (readonly [RegExp, RefusalReason])[] = [
  [/\balert\b/i, 'TLS_REFUSED_BY_CLIENT'],
  [/did not return a certificate|certificate required/i, 'TLS_CERTIFICATE_MISSING'],
  [/expired/i, 'TLS_CERTIFICATE_EXPIRED'],
  [/verify failed|not accepted/i, 'TLS_CERTIFICATE_NOT_TRUSTED'],
  [/wrong version number|http request|packet length too long/i, 'PLAIN_ON_TLS_LISTENER'],
  [/unsupported protocol|no shared cipher|no suitable|no protocols|version too low/i, 'TLS_INCOMPATIBLE'],
  [/no server certificate/i, 'TLS_NOT_CONFIGURED'],
  [/took longer/i, 'TLS_TIMEOUT'],
  [/handshakes already/i, 'BUSY'],
];

/** The reason of a failed TLS handshake by the text of its error. */
export const tlsReasonOf = (text: string): RefusalReason =>
  REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? 'TLS_FAILED';
