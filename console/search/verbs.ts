import { useTexts } from '../texts/texts.ts';
import { type Found, VERBS, type Verb } from './found.ts';
import { searchTexts } from './texts.ts';

interface Command {
  /** `null`: the text is only searched. */
  readonly verb: Verb | null;
  /** What is searched. */
  readonly name: string;
  /** Of "why": the last word, if it is a topic with levels. */
  readonly topic: string;
}

/** Reads "disconnect press-7" and "why press-7 plant/state" in the language of the page, or in English. */
export function useCommand(term: string): Command {
  const text = useTexts(searchTexts);
  const [first = '', ...rest] = term.split(/\s+/);
  const word = first.toLowerCase();
  const verb = VERBS.find((one) => word === one || word === text(one).toLowerCase()) ?? null;
  if (verb === null || rest.length === 0) return { verb: null, name: term, topic: '' };
  const last = rest.at(-1) ?? '';
  const topic = verb === 'why' && rest.length > 1 && last.includes('/') ? last : '';
  return { verb, name: rest.slice(0, topic === '' ? undefined : -1).join(' '), topic };
}

/** What the verb does with the results, before the results themselves. */
export function withActs(found: readonly Found[], { verb, topic }: Command): readonly Found[] {
  if (verb === null) return found;
  const acts = found.flatMap(({ acts: { [verb]: act } = {}, ...one }) => {
    if (act === undefined) return [];
    return [{ ...one, kind: verb, address: topic === '' ? act : `${act}&topic=${encodeURIComponent(topic)}` }];
  });
  return [...acts, ...found];
}
