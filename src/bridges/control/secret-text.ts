/** What stands for a secret wherever it is told; sent back, it means the one that is kept. */
export const MASK = '***';

/** Names of what nobody is told: `password`, `clientSecret`, `api_key`, `sas`, `Authorization`. */
const SECRET_NAME =
  /(passw(or)?d|pwd|passphrase|passcode|secret|token|credentials?|signature|authorization|cookie|connection_?string|private_?key)$|^(pass|sig|sas|auth|code)$|key$/i;
/** Keys that open nothing. */
const OPEN_KEY = /(public|primary|foreign|partition|routing|message|record|sort|row|group)_?-?key$/i;

/** What is called so may be an object that holds more than secrets. */
const GROUP_NAME = /^(credentials?|auth|sas)$/i;

export const isGroupName = (name: string): boolean => GROUP_NAME.test(name);

export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !OPEN_KEY.test(name);

/** Names of what says where secrets are sent to. */
const PLACE_NAME =
  /(url|uri|host|hostname|port|server|broker|address|endpoint|namespace|dsn|connection_?string|bootstrap|proxy)s?$/i;

export const isPlaceName = (name: string): boolean => PLACE_NAME.test(name);

const PEM_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** A secret within a text, such as the password in a URL. */
interface Slot {
  /** What it is called there; `:` the password of a URL. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Secrets within a text that is none itself: credentials of URLs, parameters of URLs and connection strings by their names. */
export const maskText = (text: string): string =>
  PEM_KEY.test(text) ? MASK : withSlots(text, slotsOf(text), () => MASK);

/** The text with what `kept` has in the places that are masked; null: `kept` has nothing there. */
export function restoreText(text: string, kept: unknown): string | null {
  if (!text.includes(MASK)) return text;
  const known = typeof kept === 'string' ? kept : '';
  if (text === MASK && PEM_KEY.test(known)) return known;
  const masked = slotsOf(text).filter(({ start, end }) => text.slice(start, end) === MASK);
  if (masked.length === 0) return text;
  const values = new Map(slotsOf(known).map(({ name, start, end }) => [name, known.slice(start, end)]));
  if (masked.some(({ name }) => !values.has(name))) return null;
  return withSlots(text, masked, ({ name }) => values.get(name) ?? '');
}

/** Where a text leads: of a URL its scheme, host and port; nothing of its credentials. */
export function placeOf(text: string): string {
  const open = withSlots(text, slotsOf(text), () => '');
  const [, scheme, authority = ''] = /^([a-z][a-z0-9+.:-]*:\/\/)([^/?#]*)/i.exec(open) ?? [];
  return scheme === undefined ? open : `${scheme}${authority.slice(authority.lastIndexOf('@') + 1)}`.toLowerCase();
}

function withSlots(text: string, slots: readonly Slot[], fill: (slot: Slot) => string): string {
  let result = '';
  let at = 0;
  for (const slot of slots) {
    if (slot.start < at) continue;
    result += text.slice(at, slot.start) + fill(slot);
    at = slot.end;
  }
  return result + text.slice(at);
}

/** In their order. */
function slotsOf(text: string): Slot[] {
  // Certificates and texts for people are no connection strings.
  if (text.includes('\n')) return [];
  return [...passwords(text), ...parameters(text)].sort((a, b) => a.start - b.start);
}

function* passwords(text: string): Iterable<Slot> {
  for (const { index } of text.matchAll(/:\/\//g)) {
    const start = index + 3;
    const rest = text.slice(start);
    const length = rest.search(/[/?#\s]|$/);
    const [authority, whole] = [rest.slice(0, length), rest.slice(0, rest.search(/\s|$/))];
    const colon = authority.indexOf(':');
    if (colon < 0 || authority.startsWith('[')) continue;
    const at = authority.lastIndexOf('@');
    // A password that nobody encoded may hold a slash; a port is digits.
    const isPort = /^\d{0,5}(,|$)/.test(authority.slice(colon + 1));
    const end = at > colon ? at : isPort ? -1 : whole.lastIndexOf('@');
    if (end > colon + 1) yield { name: ':', start: start + colon + 1, end: start + end };
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
