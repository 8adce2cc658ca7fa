import { useTexts } from '../texts/texts.ts';
import { helpTexts } from './help-texts.ts';
import type { ShownProblem } from './operations.ts';
import { titleTexts } from './title-texts.ts';

type Words = Pick<ShownProblem, 'kind' | 'title' | 'whatWouldHelp'>;

/** The title of a problem and its remedy in the language of the person, as far as they are those of its kind. */
export function useProblemWords(): (problem: Words) => { readonly title: string; readonly help: string } {
  const titleOf = useTexts(titleTexts);
  const helpOf = useTexts(helpTexts);
  return ({ kind, whatWouldHelp }) => ({
    title: titleOf(kind),
    help: whatWouldHelp === helpTexts.en[kind] ? helpOf(kind) : whatWouldHelp,
  });
}
