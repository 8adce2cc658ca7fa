/** One `-----BEGIN label-----` block, with LF at line ends and nothing around it. */
export interface PemBlock {
  readonly label: string;
  readonly text: string;
}

export interface PemText {
  readonly blocks: readonly PemBlock[];
  /** What is wrong with the text as a whole; null: nothing. */
  readonly problem: string | null;
}

const BEGIN = /^-----BEGIN ([A-Z0-9 ]+)-----$/;
const DER_AS_BASE64 = /^\s*MI[IH][A-Za-z0-9+/=\s]+$/;

/** The blocks of a PEM text (RFC 7468), whatever stands around them: comments, dumps, any line ends. Takes time by the length alone. */
export function pemBlocks(text: string): PemText {
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
    return { blocks, problem: `has a block of PEM that begins in line ${open.line} and has no end` };
  }
  return { blocks, problem: blocks.length === 0 ? withoutBlocks(text) : null };
}

function withoutBlocks(text: string): string {
  if (text.includes('-----BEGIN ')) {
    return text.includes('\\n')
      ? 'is no PEM text: its line ends are written as \\n'
      : 'is no PEM text: -----BEGIN … ----- has to be a line of its own';
  }
  // DER begins with a sequence of some hundred bytes or more: 0x30 0x82, or what became of it as text.
  const isBinary = text.charCodeAt(0) === 0x30 && [0x81, 0x82, 0xfffd].includes(text.charCodeAt(1));
  return isBinary || DER_AS_BASE64.test(text)
    ? 'is DER and no PEM text: `openssl x509 -inform der` makes PEM of a certificate, `openssl pkey -inform der` of a key'
    : 'is no PEM text: there is no line -----BEGIN CERTIFICATE-----';
}
