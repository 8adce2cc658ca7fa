import type { LineMeaning } from './log-line.ts';

type Subscription = Extract<LineMeaning, { kind: 'SUBSCRIBED' | 'UNSUBSCRIBED' }>;

/** `id qos filter`. Both id and filter may contain spaces, so the id of a known client counts first. */
export function readSubscribe(text: string, isKnown: (clientid: string) => boolean): Subscription | null {
  const known = knownEnds(text, / [012](?= )/g, isKnown);
  const index = known[0] ?? / [012] \S/.exec(text)?.index;
  return index === undefined ? null : withOthers(subscribed(text, index), text, known);
}

const subscribed = (text: string, index: number): Subscription => ({
  kind: 'SUBSCRIBED',
  clientid: text.slice(0, index),
  qos: Number(text[index + 1]),
  filter: text.slice(index + 3),
});

/** `id filter`. */
export function readUnsubscribe(text: string, isKnown: (clientid: string) => boolean): Subscription | null {
  const known = knownEnds(text, / /g, isKnown);
  const end = known[0] ?? text.lastIndexOf(' ');
  if (end < 0) return null;
  const line = { kind: 'UNSUBSCRIBED' as const, clientid: text.slice(0, end), filter: text.slice(end + 1) };
  return withOthers(line, text, known);
}

/** Where the ids of known clients end that the text begins with. */
const knownEnds = (text: string, separator: RegExp, isKnown: (clientid: string) => boolean): number[] =>
  [...text.matchAll(separator)].map(({ index }) => index).filter((index) => isKnown(text.slice(0, index)));

/** Several known clients: the line is about one of them, and does not say which. */
const withOthers = (line: Subscription, text: string, [, ...others]: readonly number[]): Subscription =>
  others.length === 0 ? line : { ...line, filter: null, others: others.map((end) => text.slice(0, end)) };
