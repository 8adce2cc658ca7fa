import { useContext } from 'react';
import { Language } from '../texts/texts.ts';
import { type ProblemWords, problemWords, type WordedProblem } from './problem-words.ts';

/** What is wrong and what would help, in the language of the person. */
export function useProblemWords(): (problem: WordedProblem) => ProblemWords {
  const language = useContext(Language);
  return (problem) => problemWords(problem, language);
}
