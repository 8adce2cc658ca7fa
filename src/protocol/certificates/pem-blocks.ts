/** One `-----BEGIN label-----` block with LF line ends, without text around it. */
export interface PemBlock {
  readonly label: string;
  readonly text: string;
}

interface PemText {
  readonly blocks: readonly PemBlock[];
  readonly problem: string | null;
}

const BEGIN = /^-----BEGIN ([A-Z0-9 ]+)-----$/;
const DER_AS_BASE64 = /^\s*MI[IH][A-Za-z0-9+/=\s]+$/;

/** RFC 7468 with any line ends. Text around the blocks is ignored. `expected`: a label. Takes linear time. */
export function pemBlocks(text: string, expected: string): PemText {
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; readonly line: number; readonly lines: string[] } | null = null;
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const line = raw.trim();
    if (open === null) {
      const label = BEGIN.exec(line)?.[1];
      if (label !== undefined) open = { label, line: index + 1, lines: [line] };
      continue;
    }
    open.lines.push(line);
    if (line === `-----END ${open.label}-----`) {
      blocks.push({ label: open.label, text: `${open.lines.join('\n')}\n` });
      open = null;
    } else if (BEGIN.test(line)) break;
  }
  if (open !== null) {
    return { blocks, problem: `has a PEM block that begins in line ${open.line} and has no end` };
  }
  return { blocks, problem: blocks.length === 0 ? withoutBlocks(text, expected) : null };
}

function withoutBlocks(text: string, expected: string): string {
  if (text.includes('-----BEGIN ')) {
    return text.includes('\\n')
      ? 'is not PEM: line ends are written as \\n'
      : 'is not PEM: -----BEGIN … ----- must be on its own line';
  }
  if (text.includes('\0-\0-\0-')) return 'is PEM in UTF-16: save it as UTF-8';
  const isBase64 = DER_AS_BASE64.test(text);
  const bytes = isBase64 ? Buffer.from(text, 'base64').toString('latin1') : text;
  // DER begins with 0x30 0x81 or 0x30 0x82. Decoding as text may replace the second byte.
  const isBinary = bytes.charCodeAt(0) === 0x30 && [0x81, 0x82, 0xfffd].includes(bytes.charCodeAt(1));
  if (!isBinary) return `is not PEM: there is no line -----BEGIN ${expected}-----`;
  // PKCS #12 begins with the version 3 (RFC 7292, 4), where a certificate has another sequence and a key the version 0.
  return bytes.slice(2, 8).includes('\u0002\u0001\u0003')
    ? 'is PKCS #12, not PEM: convert it with `openssl pkcs12 -noenc`'
    : 'is DER, not PEM: convert a certificate with `openssl x509 -inform der`, or a key with `openssl pkey -inform der`';
}
