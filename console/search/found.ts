/** First words of a text that say what to do with what is found. */
export const VERBS = ['disconnect', 'why', 'silence'] as const;
export type Verb = (typeof VERBS)[number];

export type Kind =
  | Verb
  | 'screen'
  | 'project'
  | 'broker'
  | 'client'
  /** A client id that no client has now. */
  | 'clientId'
  | 'denied'
  | 'account'
  | 'group'
  | 'role'
  | 'topic'
  | 'certificate'
  | 'person';

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
