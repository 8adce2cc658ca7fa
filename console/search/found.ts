/** First words of a text that say what to do with what is found. */
export const VERBS = ['disconnect', 'why', 'silence'] as const;
export type Verb = (typeof VERBS)[number];

/** In the order of results that match equally well: what exists once, then what each broker and project has. */
const KINDS = [
  ...VERBS,
  'project',
  'broker',
  'client',
  'account',
  'stream',
  'bridge',
  'group',
  'role',
  'topic',
  'certificate',
  'token',
  'person',
  'denied',
  'action',
  'screen',
  /** A client id that no client has now. */
  'clientId',
] as const;
export type Kind = (typeof KINDS)[number];

/** Results of each kind that one broker may have. */
export const MAX_OF_KIND = 5;

/** A result of the search. */
export interface Found {
  readonly kind: Kind;
  readonly name: string;
  /** The name of the broker or the project. */
  readonly of: string | null;
  /** Address of the screen. */
  readonly address: string;
  /** Addresses of what the verbs do with it. */
  readonly acts?: Partial<Record<Verb, string>>;
}

const encoded = encodeURIComponent;

export const brokerAddress = (id: string): string => `/brokers/${id}`;
export const topicAddress = (id: string, topic: string): string => `/brokers/${id}/topics?topic=${encoded(topic)}`;
export const projectAddress = (id: string): string => `/projects/${id}`;

export const keyOf = ({ kind, address, name }: Found): string => `${kind} ${address} ${name}`;

export const contains = (name: string, term: string): boolean => name.toLowerCase().includes(term.toLowerCase());

/** Whether each word of the term begins a word of the text: "gra cli" finds "Plant Graz Clients". */
export function hasWords(text: string, term: string): boolean {
  const words = wordsOf(text);
  return wordsOf(term).every((part) => words.some((word) => word.startsWith(part)));
}

const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/**
 * What was found, once each, best first: the whole name, its beginning, the beginning of words, a part of it, and what
 * matched by something else. Then by kind, screens of the whole service first; then the shorter name.
 */
export function ranked(found: readonly Found[], term: string): readonly Found[] {
  const text = term.toLowerCase();
  const matchOf = ({ name, of }: Found): number => {
    const lower = name.toLowerCase();
    if (lower === text) return 0;
    if (lower.startsWith(text)) return 1;
    if (hasWords(`${name} ${of}`, text)) return 2;
    return lower.includes(text) ? 3 : 4;
  };
  const kindOf = ({ kind, of }: Found): number => (kind === 'screen' && of === null ? -1 : KINDS.indexOf(kind));
  return [...new Map(found.map((one) => [keyOf(one), one])).values()]
    .map((one) => ({ one, order: [matchOf(one), kindOf(one), one.name.length] as const }))
    .sort(({ order: a }, { order: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .map(({ one }) => one);
}
