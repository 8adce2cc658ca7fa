import type { X509Certificate } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { capitalized } from '../text/capitalized.ts';

interface TlsServer {
  /** As in "the broker". */
  readonly name: string;
  /** What the setting for trusted certificates is called. */
  readonly ca: string;
}

/** Set on the error of a failed handshake: the certificate that the server sent, with its chain. */
const CERTIFICATE = Symbol('certificate');
/** Certificates of a chain that are read, and names and characters of a certificate that are shown. */
const MAX_CHAIN = 10;
const MAX_NAMES = 10;
const MAX_TEXT = 200;

/**
 * Lets `tlsProblem` describe the certificate for which the connection fails: Node drops it with the socket, before it
 * emits the error. Call it before the handshake ends.
 */
export function keepCertificate(socket: Duplex): void {
  if (!(socket instanceof TLSSocket)) return;
  const { destroy } = socket;
  socket.destroy = (error?: Error) => {
    if (error) Object.assign(error, { [CERTIFICATE]: socket.getPeerX509Certificate() });
    return destroy.call(socket, error);
  };
  socket.once('secureConnect', () => {
    socket.destroy = destroy;
  });
}

type Problem = (server: TlsServer, error: Error & { readonly [CERTIFICATE]?: X509Certificate }) => string;

const expired: Problem = ({ name }, error) => {
  const certificate = chainOf(error).find(({ validToDate }) => Number(validToDate) < Date.now());
  return certificate === undefined
    ? `The certificate of ${name} has expired`
    : `${labelOf(certificate, error, name)} has expired on ${dateOf(certificate.validToDate)}: it must be renewed`;
};

const tooEarly: Problem = ({ name }, error) => {
  const certificate = chainOf(error).find(({ validFromDate }) => Number(validFromDate) > Date.now());
  return certificate === undefined
    ? `The certificate of ${name} is not valid yet`
    : `${labelOf(certificate, error, name)} is not valid until ${dateOf(certificate.validFromDate)}`;
};

const selfSigned: Problem = ({ name, ca }) =>
  `The certificate of ${name} is not signed by a CA that is known, but by itself: add it as ${ca}`;

/** The server has sent the chain up to a CA that is not known. */
const unknownCa: Problem = ({ name, ca }, error) => {
  const last = chainOf(error).at(-1);
  const issuer = last === undefined ? '' : `, ${nameOf(last.issuer)}`;
  return `The certificate of ${name} is signed by a CA that is not known${issuer}: add the certificate of this CA as ${ca}`;
};

/** The server has sent its own certificate only. */
const unknownIssuer: Problem = (server, error) => {
  const [own] = chainOf(error);
  const between = `, or configure ${server.name} to send it if it is an intermediate certificate of a known CA`;
  return `${unknownCa(server, error)}${own === undefined ? '' : between}`;
};

const otherHost: Problem = ({ name }, error) => {
  const { host, cert } = error as { readonly host?: unknown; readonly cert?: { readonly subjectaltname?: unknown } };
  const names = typeof cert?.subjectaltname === 'string' ? cert.subjectaltname.split(', ') : [];
  const shown = names.slice(0, MAX_NAMES).map((text) => plain(text).replace(/^DNS:|^IP Address:/, ''));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const listed = names.length === 0 ? 'it has no name (subjectAltName)' : `it has ${shown.join(', ')}${more}`;
  return `The certificate of ${name} is for another host name than ${plain(String(host ?? ''))}: ${listed}`;
};

const needsCertificate: Problem = ({ name }) => `${capitalized(name)} requires a client certificate, with its key`;
const noTls: Problem = ({ name }) => `The port of ${name} does not speak TLS`;
const otherVersion: Problem = ({ name }) =>
  `${capitalized(name)} does not support the versions of TLS that this service does: 1.2 and 1.3`;
const refusedCertificate =
  (why: string): Problem =>
  ({ name }) =>
    `${capitalized(name)} refused the client certificate${why}`;

/** By the code of Node or OpenSSL. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: tooEarly,
  CERT_REVOKED: ({ name }) => `The certificate of ${name} is revoked`,
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  CERT_SIGNATURE_FAILURE: ({ name, ca }) =>
    `The certificate of ${name} is not signed with the key of the CA that it names: ${ca} has another CA of this name`,
  INVALID_PURPOSE: ({ name }) => `The certificate of ${name} is not for a server (extendedKeyUsage)`,
  EE_KEY_TOO_SMALL: ({ name }) => `The key of the certificate of ${name} is too short`,
  CA_MD_TOO_WEAK: ({ name }) => `The certificate of ${name} has a signature that is too weak`,
  ERR_TLS_CERT_ALTNAME_INVALID: otherHost,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ERR_SSL_HTTP_REQUEST: noTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: otherVersion,
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: otherVersion,
};

/** Alerts of the server (RFC 8446, 6.2). The first matching row applies. */
const ALERTS: readonly (readonly [RegExp, Problem])[] = [
  [/ALERT_PROTOCOL_VERSION/, otherVersion],
  [/ALERT_CERTIFICATE_REQUIRED/, needsCertificate],
  [
    /ALERT_HANDSHAKE_FAILURE/,
    ({ name }) => `${capitalized(name)} refused the TLS handshake: it may require a client certificate`,
  ],
  [/ALERT_UNKNOWN_CA/, refusedCertificate(': it does not know the CA that signed it')],
  [/ALERT_CERTIFICATE_EXPIRED/, refusedCertificate(': it has expired')],
  [/ALERT_CERTIFICATE_REVOKED/, refusedCertificate(': it is revoked')],
  [/ALERT_(BAD_CERTIFICATE|CERTIFICATE|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)/, refusedCertificate('')],
  [/ALERT_UNRECOGNIZED_NAME/, ({ name }) => `${capitalized(name)} has no certificate for this host name`],
];

/**
 * Describes why a TLS connection to a server failed, and what is missing; `null` if the error is another one. The text
 * contains names of certificates, but no URL and no secret.
 */
export function tlsProblem(error: unknown, server: TlsServer): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code } = error;
  const problem = Object.hasOwn(PROBLEMS, code)
    ? PROBLEMS[code]
    : ALERTS.find(([pattern]) => /^ERR_SSL/.test(code) && pattern.test(code))?.[1];
  return problem?.(server, error) ?? null;
}

function chainOf({ [CERTIFICATE]: own }: { readonly [CERTIFICATE]?: X509Certificate }): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = own; next !== undefined && chain.length < MAX_CHAIN; next = next.issuerCertificate) {
    if (chain.some(({ fingerprint256 }) => fingerprint256 === next?.fingerprint256)) break;
    chain.push(next);
  }
  return chain;
}

const labelOf = (certificate: X509Certificate, error: object, name: string): string =>
  certificate === chainOf(error)[0]
    ? `The certificate of ${name}`
    : `The certificate of ${nameOf(certificate.subject)}, on which that of ${name} depends,`;

/** The common name, or the whole name without line breaks. */
const nameOf = (subject: string): string => `"${plain(commonName(subject) ?? subject)}"`;

/** `subject`: with a part in each line, as Node returns it. Only \n ends a line: a part may contain U+2028. */
export const commonName = (subject: string): string | undefined => /(?:^|\n)CN=([^\n]+)/.exec(subject)?.[1];

const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').slice(0, MAX_TEXT);

const dateOf = (time: Date): string => time.toISOString().slice(0, 10);
