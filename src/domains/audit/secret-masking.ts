/**
 * A value is a secret if the schema marks its field (`extensions: { secret: true }`), if its name looks like a secret
 * (unless the schema says `secret: false`), or if the value does: passwords in URLs, private keys, tokens of this
 * service. Values beyond the limits below and contents of messages (`extensions: { content }`) are replaced with their
 * size.
 */
import {
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { SECRET_PREFIX } from '../../platform/auth/secrets.ts';
import { ExactNumber } from '../../platform/text/exact-number.ts';

export const MASK = '***';

const MAX_TEXT = 1_000;
/** Longer strings are not parsed as JSON. */
const MAX_JSON_TEXT = 200_000;
/** Characters of a string that are searched. A secret that begins within MAX_TEXT ends here or is masked to the end. */
const MAX_SEARCHED = 4 * MAX_TEXT;
const MAX_ITEMS = 100;
const MAX_DEPTH = 12;
const MAX_VALUES = 1_000;
/** Approximate bytes of JSON. Entries are read page by page, and unknown callers choose their content. */
export const MAX_BYTES = 16_000;

/** Last words of secret names: `refresh_token` and `privateKeys` are secret, `tokenId` is not. */
const SECRET_WORDS =
  /^(?:pass(?:word|wd|phrase|code)?|pwd|pw|psk|secret|token|key|credential|cred|otp|totp|code|pin|authorization|auth|bearer|cookie|jwt|hash|salt|seed|signature|sig|hmac|dsn|verifier)s?$/;
/** Endings of the last word, because many names do not separate their words: `sslpassword`. */
const SECRET_ENDS =
  /(?:pass(?:word|wd|phrase)|pwd|pw|secret|token|cookie|credential|(?:api|access|secret|private|shared|account|auth|master|signing|encryption)key)s?$/;
/** Words that make a name secret at any position: `passwordAgain`, `sealedConfig`, `secretOfBroker`. */
const SECRET_PARTS = /^(?:pass(?:word|wd|phrase)|secret|sealed|private|credential|apikey)s?$/;
const HARMLESS_ENDS = /^(?:ids?|files?|filenames?|names?|types?|at|until|since|count|length|expiry|algorithm|enabled)$/;
/** Last words that are ignored: `tokenValue` is treated like `token`. */
const EMPTY_ENDS = /^(?:value|string|text|raw|plain|plaintext|header|pem|hex|b64|base64)s?$/;

export function looksSecret(name: string): boolean {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
  const last = words.findLast((word) => !EMPTY_ENDS.test(word)) ?? '';
  if (HARMLESS_ENDS.test(last)) return false;
  return SECRET_WORDS.test(last) || SECRET_ENDS.test(last) || words.some((word) => SECRET_PARTS.test(word));
}

/** The masked value as plain JSON. `type` is the input type of the graph. At most one string exceeds `bytes`. */
export function masked(value: unknown, type?: GraphQLInputType, bytes = MAX_BYTES): unknown {
  return new Masking(bytes).value(value, type, 0);
}

class Masking {
  #valuesLeft = MAX_VALUES;
  #bytesLeft: number;

  constructor(bytes: number) {
    this.#bytesLeft = bytes;
  }

  get #isFull(): boolean {
    return this.#valuesLeft <= 0 || this.#bytesLeft <= 0;
  }

  value(value: unknown, type: GraphQLInputType | undefined, depth: number): unknown {
    this.#valuesLeft -= 1;
    switch (typeof value) {
      case 'string':
        return type !== undefined && isEnumType(getNamedType(type)) ? value : this.#counted(this.#text(value, depth));
      case 'number':
      case 'boolean':
        return value;
      case 'bigint':
        return String(value);
      case 'object':
        break;
      default:
        return null;
    }
    if (value === null) return null;
    if (value instanceof ExactNumber) return this.#counted(String(value));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `(${value.byteLength} bytes)`;
    if (depth >= MAX_DEPTH || this.#isFull) return Array.isArray(value) ? '[…]' : '{…}';
    return Array.isArray(value) ? this.#list(value, type, depth) : this.#object(value, type, depth);
  }

  #list(list: readonly unknown[], type: GraphQLInputType | undefined, depth: number): unknown {
    const nullable = type && getNullableType(type);
    const item = isListType(nullable) ? nullable.ofType : nullable;
    const shown: unknown[] = [];
    for (const value of list.slice(0, MAX_ITEMS)) {
      if (this.#isFull) break;
      shown.push(this.value(value, item, depth + 1));
    }
    if (shown.length < list.length) shown.push(`… and ${list.length - shown.length} more`);
    return shown;
  }

  #object(value: object, type: GraphQLInputType | undefined, depth: number): unknown {
    const named = type && getNamedType(type);
    const fields = isInputObjectType(named) ? named.getFields() : null;
    const entries: [string, unknown][] = [];
    for (const [name, inner] of Object.entries(value)) {
      if (inner === undefined) continue;
      if (this.#isFull) {
        entries.push(['…', `${Object.keys(value).length - entries.length} more`]);
        break;
      }
      const field = fields && Object.hasOwn(fields, name) ? fields[name] : undefined;
      const fieldType = field && getNamedType(field.type);
      // For an input object, its own fields decide which values are secret.
      const isInputObject = isInputObjectType(fieldType) && typeof inner === 'object';
      const content = field?.extensions.content;
      if (content !== undefined && inner !== null) {
        entries.push([name, `(${sizeOf(inner, content)} bytes)`]);
        continue;
      }
      const isSecret = isMarked(field?.extensions) ?? (looksSecret(name) || isValueOfSecret(value, name));
      const shown = isSecret && !isInputObject ? maskOf(inner) : this.value(inner, field?.type, depth + 1);
      entries.push([this.#counted(truncated(name)), shown]);
    }
    return Object.fromEntries(entries);
  }

  #counted(text: string): string {
    this.#bytesLeft -= Buffer.byteLength(JSON.stringify(text));
    return text;
  }

  #text(text: string, depth: number): string {
    const start = text.trimStart()[0];
    // A JSON document in a string may contain secrets by name.
    if (start === '{' || start === '[') {
      if (text.length > MAX_JSON_TEXT) return `(${text.length} characters)`;
      const parsed = parsedJson(text);
      if (parsed !== undefined) return truncated(JSON.stringify(this.value(parsed, undefined, depth + 1)));
    }
    // Truncation before masking could make a secret unrecognizable.
    if (text.length > MAX_JSON_TEXT) return `(${text.length} characters)`;
    return truncated(withoutSecrets(text.slice(0, MAX_SEARCHED)), text.length);
  }
}

const sizeOf = (value: unknown, content: unknown): number =>
  Buffer.byteLength(
    content === 'json' ? JSON.stringify(value) : String(value),
    content === 'base64' ? 'base64' : 'utf8',
  );

/** Null and booleans are shown: they do not reveal the secret. */
function maskOf(value: unknown): unknown {
  return value === null || typeof value === 'boolean' ? value : MASK;
}

const isMarked = (extensions: Readonly<Record<string, unknown>> | undefined): boolean | undefined =>
  typeof extensions?.secret === 'boolean' ? extensions.secret : undefined;

/** Whether the member is the value of a secret in a list such as `{ name: 'X-Api-Key', value: '…' }`. */
function isValueOfSecret(object: object, name: string): boolean {
  if (!/^(?:v|value|val|content|data)$/i.test(name)) return false;
  return Object.entries(object).some(
    ([key, label]) =>
      /^(?:k|key|name|header|field|property|parameter|param|attribute)$/i.test(key) &&
      typeof label === 'string' &&
      looksSecret(label),
  );
}

const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g;
const OWN_SECRET = new RegExp(`\\b(?:${Object.values(SECRET_PREFIX).join('|')})[\\w-]{8,}`, 'g');
/** All quantifiers are bounded, for linear time. A password may contain characters that end the authority of a URL. */
const IN_URL =
  /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s/?#@:]{0,200}):(?:[^\s/?#]{0,2000}@|(?!\d{1,5}[/?#])[^\s"'<>]{0,300}@)/gi;
/** Also with a mistyped or missing scheme: `postgres:/me:…@host`, `me:…@host`. No e-mail addresses. */
const IN_MISTYPED_URL =
  /(?<![^\s"'(,=[{<])(?![a-z][a-z0-9+.-]{0,20}:\/\/[^/]|(?:mailto|sips?|acct|xmpp):[^\s:]{0,300}@)((?:[a-z][a-z0-9+.-]{0,20}(?::\/{0,3}|\/\/))?)([^\s/?#@:"'<>]{0,200}):(?!\d{1,5}[/?#])[^\s"'<>]{1,300}@/gi;
const BEARER = /\b(bearer|basic)\s{1,5}[\w.~+/=-]{8,}/gi;
/** `name = …`, `"name": …` also outside of valid JSON, `--name …`, `<name>…`. */
const ASSIGNMENT =
  /(?<![\w-])(?:([\w-]{1,64})(?:\\{0,3}["'])?\s{0,5}[=:]\s{0,5}|--([\w-]{1,64})\s{1,5}|(?<=<)([\w-]{1,64})(?:\s[^<>]{0,200})?>)/g;
const ASSIGNED = /\\+"[^"]*"?|"(?:\\[\s\S]|[^"\\])*"?|'(?:\\[\s\S]|[^'\\])*'?|[^\s;,&'"<]+/y;
/** Headers whose value extends to the end of the line. */
const WITH_SPACES = /(?:authorization|cookie)$/i;
const ASSIGNED_LINE = /[^\s"'][^\r\n"']*/y;

export const withoutOwnSecrets = (text: string): string => text.replaceAll(OWN_SECRET, MASK);

function withoutSecrets(text: string): string {
  return withoutAssigned(
    withoutOwnSecrets(text.replaceAll(PRIVATE_KEY, MASK))
      .replaceAll(IN_URL, `$1$2:${MASK}@`)
      .replaceAll(IN_MISTYPED_URL, `$1$2:${MASK}@`)
      .replaceAll(BEARER, `$1 ${MASK}`),
  );
}

/** Masks `password=…`, as in connection strings, URL queries, headers, JSON templates and command lines. */
function withoutAssigned(text: string): string {
  let shown = '';
  let end = 0;
  for (const { 0: all, 1: assigned, 2: option, 3: element, index } of text.matchAll(ASSIGNMENT)) {
    const name = assigned ?? option ?? element ?? '';
    const start = index + all.length;
    if (start < end || !looksSecret(name)) continue;
    const value = valueAt(text, start, ASSIGNED_LINE, WITH_SPACES.test(name)) ?? valueAt(text, start, ASSIGNED);
    if (value === undefined) continue;
    shown += text.slice(end, start) + MASK;
    end = start + value.length;
  }
  return shown + text.slice(end);
}

function valueAt(text: string, start: number, pattern: RegExp, isFor = true): string | undefined {
  if (!isFor) return undefined;
  pattern.lastIndex = start;
  return pattern.exec(text)?.[0];
}

/** `length` is the length of the original if the text is only its beginning. */
function truncated(text: string, length = text.length): string {
  if (text.length <= MAX_TEXT && length <= MAX_SEARCHED) return text;
  // Does not split a surrogate pair.
  return `${Buffer.from(text.slice(0, MAX_TEXT))
    .toString('utf8')
    .replace(/\ufffd$/, '')}… (${length} characters)`;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
