const KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g;

/** The private key in a PEM file (RFC 7468), and the rest of it. */
export function pemParts(text: string): { readonly certificates: string; readonly key: string } {
  const key = text.match(KEY)?.join('\n') ?? '';
  return { certificates: text.replaceAll(KEY, '').trim(), key };
}
