/**
 * What may be kept of an input: everything but its secrets. A value is a secret because the schema says so of its field
 * (`extensions: { secret: true }`), because of its name (unless the schema says `secret: false`), or because of what it looks like,
 * wherever it stands: passwords in URLs and connection texts, private keys, tokens of this service.
 *
 * Bounds: texts of MAX_TEXT characters, lists of MAX_ITEMS entries, MAX_DEPTH levels, MAX_VALUES values and so many bytes of all; what is
 * beyond is told by its size alone. Binary data is never copied.
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

export const MASK = '***';

const MAX_TEXT = 1_000;
/** A longer text is not searched for what is in it. */
const MAX_JSON_TEXT = 200_000;
/** Of a text so much is searched: what begins within MAX_TEXT ends here, or is a secret to the end. Anybody may send long ones. */
const MAX_SEARCHED = 4 * MAX_TEXT;
const MAX_ITEMS = 100;
const MAX_DEPTH = 12;
const MAX_VALUES = 1_000;
/** Bytes of JSON, about: entries are read a page at a time, and whoever may be refused something chooses what is in them. */
export const MAX_KEPT = 16_000;

/** As the last word of a name: `tokenId` is none, `refresh_token` and `privateKeys` are. */
const SECRET_WORDS =
  /^(?:pass(?:word|wd|phrase|code)?|pwd|pw|psk|secret|token|key|credential|cred|otp|totp|code|pin|authorization|auth|bearer|cookie|jwt|hash|salt|seed|signature|sig|hmac|dsn|verifier)s?$/;
/** At the end of one: many names are written without a mark between their words, as `sslpassword`. */
const SECRET_ENDS =
  /(?:pass(?:word|wd|phrase)|pwd|pw|secret|token|cookie|credential|(?:api|access|secret|private|shared|account|auth|master|signing|encryption)key)s?$/;
/** Anywhere in a name: `passwordAgain`, `sealedConfig`, `secretOfBroker`. */
const SECRET_PARTS = /^(?:pass(?:word|wd|phrase)|secret|sealed|private|credential|apikey)s?$/;
/** As the last word they say that it is no secret, whatever stands before. */
const HARMLESS_ENDS = /^(?:ids?|files?|filenames?|names?|types?|at|until|since|count|length|expiry|algorithm|enabled)$/;
/** As the last word they say nothing: `tokenValue` is what `token` is. */
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

/** The value as it may be kept: plain JSON values. `type`: of an input of the graph; `bytes`: of JSON, and at most one text more. */
export function masked(value: unknown, type?: GraphQLInputType, bytes = MAX_KEPT): unknown {
  return new Masking(bytes).value(value, type, 0);
}

class Masking {
  #left = MAX_VALUES;
  #room: number;

  constructor(bytes: number) {
    this.#room = bytes;
  }

  get #isFull(): boolean {
    return this.#left <= 0 || this.#room <= 0;
  }

  value(value: unknown, type: GraphQLInputType | undefined, depth: number): unknown {
    this.#left -= 1;
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
      // Of an object of the schema its own fields say what is a secret in it.
      const isLookedInto = isInputObjectType(fieldType) && typeof inner === 'object';
      const isSecret = isMarked(field?.extensions) ?? (looksSecret(name) || isValueOfSecret(value, name));
      const kept = isSecret && !isLookedInto ? maskOf(inner) : this.value(inner, field?.type, depth + 1);
      entries.push([this.#counted(cut(name)), kept]);
    }
    return Object.fromEntries(entries);
  }

  #counted(text: string): string {
    this.#room -= Buffer.byteLength(JSON.stringify(text));
    return text;
  }

  #text(text: string, depth: number): string {
    const start = text.trimStart()[0];
    // A document within a text has secrets by name, too.
    if (start === '{' || start === '[') {
      if (text.length > MAX_JSON_TEXT) return `(${text.length} characters)`;
      const parsed = parsedJson(text);
      if (parsed !== undefined) return cut(JSON.stringify(this.value(parsed, undefined, depth + 1)));
    }
    // A secret must not be cut into something that looks like none.
    if (text.length > MAX_JSON_TEXT) return `(${text.length} characters)`;
    return cut(withoutSecrets(text.slice(0, MAX_SEARCHED)), text.length);
  }
}

/** A flag is no secret, and whether there is one may be known. */
function maskOf(value: unknown): unknown {
  return value === null || typeof value === 'boolean' ? value : MASK;
}

const isMarked = (extensions: Readonly<Record<string, unknown>> | undefined): boolean | undefined =>
  typeof extensions?.secret === 'boolean' ? extensions.secret : undefined;

/** `{ name: 'X-Api-Key', value: '…' }`, as headers and properties are often listed. */
function isValueOfSecret(object: object, name: string): boolean {
  if (!/^(?:v|value|val|content|data)$/i.test(name)) return false;
  return Object.entries(object).some(
    ([key, said]) =>
      /^(?:k|key|name|header|field|property|parameter|param|attribute)$/i.test(key) &&
      typeof said === 'string' &&
      looksSecret(said),
  );
}

const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g;
const OWN_SECRET = new RegExp(`\\b(?:${Object.values(SECRET_PREFIX).join('|')})[\\w-]{8,}`, 'g');
/**
 * Each part is bounded: a text that somebody made up for it must not take long to look through. A password may have in it what ends one
 * in a URL, as far as that is no port.
 */
const IN_URL =
  /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s/?#@:]{0,200}):(?:[^\s/?#]{0,2000}@|(?!\d{1,5}[/?#])[^\s"'<>]{0,300}@)/gi;
/** Of a scheme something may be missing, or all of it: `postgres:/me:…@host`, `mqtt//me:…@host`, `me:…@host`. No address of a person. */
const IN_MISTYPED_URL =
  /(?<![^\s"'(,=[{<])(?![a-z][a-z0-9+.-]{0,20}:\/\/[^/]|(?:mailto|sips?|acct|xmpp):[^\s:]{0,300}@)((?:[a-z][a-z0-9+.-]{0,20}(?::\/{0,3}|\/\/))?)([^\s/?#@:"'<>]{0,200}):(?!\d{1,5}[/?#])[^\s"'<>]{1,300}@/gi;
const BEARER = /\b(bearer|basic)\s{1,5}[\w.~+/=-]{8,}/gi;
/** `name = …`, `"name": …` also where the text around it is no JSON, `--name …`, `<name>…`. */
const ASSIGNMENT =
  /(?<![\w-])(?:([\w-]{1,64})(?:\\{0,3}["'])?\s{0,5}[=:]\s{0,5}|--([\w-]{1,64})\s{1,5}|(?<=<)([\w-]{1,64})(?:\s[^<>]{0,200})?>)/g;
const ASSIGNED = /\\+"[^"]*"?|"(?:\\[\s\S]|[^"\\])*"?|'(?:\\[\s\S]|[^'\\])*'?|[^\s;,&'"<]+/y;
/** Headers with several words, up to the end of their line. */
const WITH_SPACES = /(?:authorization|cookie)$/i;
const ASSIGNED_LINE = /[^\s"'][^\r\n"']*/y;

/** Sessions and tokens of this service as MASK, all else as it is. */
export const withoutOwnSecrets = (text: string): string => text.replaceAll(OWN_SECRET, MASK);

function withoutSecrets(text: string): string {
  return withoutAssigned(
    withoutOwnSecrets(text.replaceAll(PRIVATE_KEY, MASK))
      .replaceAll(IN_URL, `$1$2:${MASK}@`)
      .replaceAll(IN_MISTYPED_URL, `$1$2:${MASK}@`)
      .replaceAll(BEARER, `$1 ${MASK}`),
  );
}

/** `password=…`, as in connection texts, queries of URLs, headers, templates of JSON and command lines. */
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

/** `length`: of the whole, where the text is the beginning of it. */
function cut(text: string, length = text.length): string {
  if (text.length <= MAX_TEXT && length <= MAX_SEARCHED) return text;
  // Not between the halves of a character.
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
