/** Replaces a secret in all output. In input, it stands for the stored secret. */
export const MASK = '***';

/** Names of secrets: `password`, `clientSecret`, `api_key`, `sas`, `Authorization`. */
const SECRET_NAME =
  /(passw(or)?d|pwd|passphrase|passcode|secret|token|credential|psk|signature|authorization|cookie|connection_?string|(api|access|account|private)[_-]?key)s?$|^(pass|sig|sas|auth|code)$|key$/i;
const OPEN_KEY = /(public|primary|foreign|partition|routing|message|record|sort|row|group)_?-?keys?$/i;

/** A value with this name may be an object that also contains other settings. */
const GROUP_NAME = /^(credentials?|auth|sas)$/i;

export const isGroupName = (name: string): boolean => GROUP_NAME.test(name);

export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !OPEN_KEY.test(name);

const PLACE_NAME =
  /(url|uri|host|hostname|port|server|broker|node|address|endpoint|namespace|dsn|connection_?string|bootstrap|proxy)s?$/i;

/** Names of settings that determine how the receiver of secrets is verified. */
const PROTECTION_NAME =
  /^(tls|ssl|ca|ssl_?mode|(verify|tls|ssl)_?(ca|mode|enabled|insecure)|ca_?(cert|certificate|file)s?|reject_?unauthorized)$/i;

/** Whether the value determines where secrets are sent: by its name, or because it is a URL. */
export const isPlace = (name: string, value: unknown): boolean =>
  PLACE_NAME.test(name) || PROTECTION_NAME.test(name) || (typeof value === 'string' && value.includes('://'));

const PEM_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** A secret within a text, such as the password in a URL. */
interface Slot {
  /** Its name in the text (`:` for the password of a URL), and its index among secrets of this name. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Masks secrets within a text: credentials of URLs, and parameters of URLs and connection strings by their names. */
export const maskText = (text: string): string =>
  PEM_KEY.test(text) ? MASK : withSlots(text, slotsOf(text), () => MASK);

/** Replaces masks by the secrets of `kept` in the same places; `null` if `kept` has none there. */
export function restoreText(text: string, kept: unknown): string | null {
  if (!text.includes(MASK)) return text;
  const known = typeof kept === 'string' ? kept : '';
  if (text === MASK && PEM_KEY.test(known)) return known;
  const masked = slotsOf(text).filter(({ start, end }) => text.slice(start, end) === MASK);
  if (masked.length === 0) return text;
  const values = new Map(slotsOf(known).map(({ name, start, end }) => [name, known.slice(start, end)]));
  const names = new Set(masked.map(({ name }) => name));
  // A masked rest may look like no secret.
  if (
    [...names].some((name) => !values.has(name)) ||
    [...values.keys()].some((name) => isRest(name) && !names.has(name))
  )
    return null;
  return withSlots(text, masked, ({ name }) => values.get(name) ?? '');
}

/**
 * The address that a text leads to: schemes, hosts, ports and parameters of URLs, and paths of web addresses, without
 * credentials. A host may have several receivers at different paths. Programs parse URLs in different ways, so all
 * readings count: `\` as a slash as in browsers, and with or without a password that is not encoded.
 */
export function placeOf(text: string): string {
  const open = withSlots(text, slotsOf(text), () => '');
  if (!/^[a-z][a-z0-9+.:-]*:\/\//i.test(open)) return open;
  const parsed = URL.canParse(text) ? new URL(text).host : '';
  const hosts = JSON.stringify([parsed, hostsIn(text), hostsIn(open)]).toLowerCase();
  return `${hosts}${/^https?:/i.test(open) ? webPath(open) : /[?#].*/s.exec(open)?.[0]?.toLowerCase()}`;
}

const webPath = (url: string): string => /^[^:]*:\/\/[^/\\?#]*(.*)$/s.exec(url)?.[1] || '/';

const LONGEST_SCHEME = 50;

const hostsIn = (text: string): string[] =>
  Array.from(text.matchAll(/(?<=:)\/\/([^/\\?#\s]*)/g), ({ index, 1: authority = '' }) => {
    const scheme = /[a-z0-9+.:-]*$/i.exec(text.slice(Math.max(0, index - LONGEST_SCHEME), index))?.[0];
    return `${scheme}//${authority.slice(authority.lastIndexOf('@') + 1)}`;
  });

function withSlots(text: string, slots: readonly Slot[], fill: (slot: Slot) => string): string {
  let result = '';
  let at = 0;
  for (const slot of slots) {
    // The rest of a text may begin within another secret.
    if (slot.end <= at || (slot.start < at && !isRest(slot.name))) continue;
    result += text.slice(at, Math.max(at, slot.start)) + fill(slot);
    at = slot.end;
  }
  return result + text.slice(at);
}

/** Maximum number of secrets within a text, of each kind. The rest of the text counts as one secret. */
const MAX_SLOTS = 1_000;
const REST = 'rest';
const isRest = (name: string): boolean => name.startsWith(`${REST} `);

/** In order. The time is linear in the length of the text. */
function slotsOf(text: string): Slot[] {
  // Base64 contains no names.
  if (text.includes('-----BEGIN ')) return [];
  const counts = new Map<string, number>();
  return [...bounded(passwords(text), text.length), ...bounded(parameters(text), text.length)]
    .sort((a, b) => a.start - b.start)
    .map((slot) => {
      const count = (counts.get(slot.name) ?? 0) + 1;
      counts.set(slot.name, count);
      return { ...slot, name: `${slot.name} ${count}` };
    });
}

function* bounded(slots: Iterable<Slot>, end: number): Iterable<Slot> {
  let number = 0;
  for (const slot of slots) {
    number += 1;
    if (number > MAX_SLOTS) return yield { name: REST, start: slot.start, end };
    yield slot;
  }
}

/** An authority with a colon that is not part of an IPv6 address. */
const WITH_COLON = /(?<=:)\/\/(?!\[)([^/?#:]*):([^/?#]*)/g;

function* passwords(text: string): Iterable<Slot> {
  for (const word of text.matchAll(/\S+/g)) {
    const [whole] = word;
    const lastAt = whole.lastIndexOf('@');
    if (lastAt < 0) continue;
    for (const { index, 0: match, 1: user = '', 2: rest = '' } of whole.matchAll(WITH_COLON)) {
      const start = index + match.length - rest.length;
      const at = rest.lastIndexOf('@');
      // A password that is not encoded may contain a slash; a port consists of digits.
      const isPort = user.includes('@') || /^\d{0,5}(,|$)/.test(rest);
      const end = at >= 0 ? start + at : isPort ? -1 : lastAt;
      if (end > start) yield { name: ':', start: word.index + start, end: word.index + end };
    }
  }
}

function* parameters(text: string): Iterable<Slot> {
  for (const match of text.matchAll(/(?:^|[?&;\s])([\w.-]{1,100})=("[^"]*"|'[^']*'|[^&;#\s]*)/g)) {
    const [whole, name = '', value = ''] = match;
    if (value === '' || !isSecretName(name)) continue;
    const end = match.index + whole.length;
    yield { name: name.toLowerCase(), start: end - value.length, end };
  }
}
