import type { LineMeaning } from './log-line.ts';

type Subscription = Extract<LineMeaning, { kind: 'SUBSCRIBED' | 'UNSUBSCRIBED' }>;

/** `id qos filter`. Both id and filter may contain spaces, so the id of a known client counts first. */
export function readSubscribe(text: string, isKnown: (clientid: string) => boolean): Subscription | null {
  for (const { index } of text.matchAll(/ [012](?= )/g)) {
    if (isKnown(text.slice(0, index))) return subscribed(text, index);
  }
  const index = / [012] \S/.exec(text)?.index;
  return index === undefined ? null : subscribed(text, index);
}

const subscribed = (text: string, index: number): Subscription => ({
  kind: 'SUBSCRIBED',
  clientid: text.slice(0, index),
  qos: Number(text[index + 1]),
  filter: text.slice(index + 3),
});

/** `id filter`. */
export function readUnsubscribe(text: string, isKnown: (clientid: string) => boolean): Subscription | null {
  let last = -1;
  for (let index = text.indexOf(' '); index >= 0; index = text.indexOf(' ', index + 1)) {
    last = index;
    if (isKnown(text.slice(0, index))) break;
  }
  if (last < 0) return null;
  return { kind: 'UNSUBSCRIBED', clientid: text.slice(0, last), filter: text.slice(last + 1) };
}
