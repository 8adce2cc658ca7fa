import { useContext } from 'react';
import type { LoadedLanguage } from '../texts/languages.ts';
import { Language, translate } from '../texts/texts.ts';
import { type Found, VERBS, type Verb } from './found.ts';
import { searchTexts } from './texts.ts';

interface Command {
  /** `null`: the text is only searched. */
  readonly verb: Verb | null;
  /** What is searched. */
  readonly name: string;
  /** Of "why": what the client or account does. */
  readonly action: (typeof ACTIONS)[number] | null;
  /** Of "why": the last word, after an action or if it has levels. */
  readonly topic: string;
}

export const ACTIONS = ['PUBLISH', 'SUBSCRIBE', 'RECEIVE', 'UNSUBSCRIBE'] as const;

/** Accents, capitals, apostrophes and spaces may be left out. */
const keyOf = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[\p{M}\s'’]/gu, '')
    .toLowerCase();

/** Of a verb: "por qué" has two. */
const MAX_WORDS = 3;

/** How many words of `words` from `at` on are one of the phrases. 0: they are none. */
function lengthOf(phrases: readonly string[], words: readonly string[], at = 0): number {
  const keys = phrases.map(keyOf);
  const lengths = Array.from({ length: MAX_WORDS }, (_, nth) => MAX_WORDS - nth);
  return lengths.find((length) => keys.includes(keyOf(words.slice(at, at + length).join('')))) ?? 0;
}

/** As `useCommand`, in a given language. */
export function commandIn(term: string, language: LoadedLanguage): Command {
  const text = translate(searchTexts, language);
  /** A word of the graph, and those of English and of the language. */
  const phrasesOf = (meaning: (typeof VERBS | typeof ACTIONS)[number]) =>
    [meaning, searchTexts.en[meaning], text(meaning)].flatMap((phrases) => phrases.split('|'));
  const typed = term.split(/\s+/);
  const length = (one: Verb) => lengthOf(phrasesOf(one), typed);
  const verb = VERBS.find((one) => length(one) > 0) ?? null;
  const rest = verb === null ? [] : typed.slice(length(verb));
  if (verb === null || rest.length === 0) return { verb: null, name: term, action: null, topic: '' };
  if (verb !== 'why') return { verb, name: rest.join(' '), action: null, topic: '' };
  const fillers = `${searchTexts.en.fillers} ${text('fillers')}`.split(' ').map(keyOf);
  const words = rest.filter((word) => !fillers.includes(keyOf(word)));
  const actionAt = (at: number) => ACTIONS.find((one) => lengthOf(phrasesOf(one), words, at) > 0) ?? null;
  const at = words.findIndex((_word, index) => actionAt(index) !== null);
  const action = actionAt(at);
  const others = action === null ? words : words.toSpliced(at, lengthOf(phrasesOf(action), words, at));
  const last = others.at(-1) ?? '';
  const topic = others.length > 1 && (action !== null || last.includes('/')) ? last : '';
  return { verb, name: others.slice(0, topic === '' ? undefined : -1).join(' '), action, topic };
}

/** Reads "disconnect press-7" and "why can press-7 publish plant/state" in the language of the page, or in English. */
export const useCommand = (term: string): Command => commandIn(term, useContext(Language));

/** What the verb does with the results, before the results themselves. */
export function withActs(found: readonly Found[], { verb, action, topic }: Command): readonly Found[] {
  if (verb === null) return found;
  const query = new URLSearchParams({ ...(action !== null && { action }), ...(topic !== '' && { topic }) });
  const acts = found.flatMap(({ acts: { [verb]: act } = {}, ...one }) => {
    if (act === undefined) return [];
    return [{ ...one, kind: verb, address: query.size === 0 ? act : `${act}&${query}` }];
  });
  return [...acts, ...found];
}
