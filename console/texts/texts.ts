import { createContext, useContext } from 'react';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';

export const LANGUAGES: Readonly<Record<string, Texts>> = { en, de };

const STORED = 'brokergraph-language';

/** The language that the person has chosen, otherwise the browser's first one that the console has. */
export function firstLanguage(): string {
  const wanted = [localStorage.getItem(STORED) ?? '', ...navigator.languages.map((tag) => tag.slice(0, 2))];
  return wanted.find((language) => Object.hasOwn(LANGUAGES, language)) ?? 'en';
}

export const storeLanguage = (language: string): void => localStorage.setItem(STORED, language);

export const Language = createContext('en');

type Translate = (text: keyof Texts, values?: Readonly<Record<string, string | number>>) => string;

export function useTexts(): Translate {
  const texts = LANGUAGES[useContext(Language)] ?? en;
  return (text, values = {}) =>
    texts[text].replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? ''));
}

export function useTimes(): (time: string) => string {
  const format = new Intl.DateTimeFormat(useContext(Language), { dateStyle: 'short', timeStyle: 'medium' });
  return (time) => format.format(new Date(time));
}
