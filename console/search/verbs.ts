import { useTexts } from '../texts/texts.ts';
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

const ACTIONS = ['PUBLISH', 'SUBSCRIBE', 'RECEIVE', 'UNSUBSCRIBE'] as const;

/** Reads "disconnect press-7" and "why can press-7 publish plant/state" in the language of the page, or in English. */
export function useCommand(term: string): Command {
  const text = useTexts(searchTexts);
  const [first = '', ...rest] = term.split(/\s+/);
  const is = (word: string, meaning: (typeof VERBS | typeof ACTIONS)[number]) =>
    [meaning, text(meaning)].some((name) => word.toLowerCase() === name.toLowerCase());
  const verb = VERBS.find((one) => is(first, one)) ?? null;
  if (verb === null || rest.length === 0) return { verb: null, name: term, action: null, topic: '' };
  if (verb !== 'why') return { verb, name: rest.join(' '), action: null, topic: '' };
  const fillers = `${searchTexts.en.fillers} ${text('fillers')}`.split(' ');
  const words = rest.filter((word) => !fillers.includes(word.toLowerCase()));
  const at = words.findIndex((word) => ACTIONS.some((one) => is(word, one)));
  const action = ACTIONS.find((one) => is(words[at] ?? '', one)) ?? null;
  const others = words.filter((_word, index) => index !== at);
  const last = others.at(-1) ?? '';
  const topic = others.length > 1 && (action !== null || last.includes('/')) ? last : '';
  return { verb, name: others.slice(0, topic === '' ? undefined : -1).join(' '), action, topic };
}

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
