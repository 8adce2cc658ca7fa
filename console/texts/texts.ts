import { createContext, useContext } from 'react';
import { common } from './common.ts';

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
type LanguageKey = keyof typeof LANGUAGES;

/** Texts of a folder in all languages. */
export type Catalogue<Key extends string> = Readonly<Record<LanguageKey, Readonly<Record<Key, string>>>>;

/** Each language has the same keys. A text may have places for values: `{name}`. */
export function catalogue<Key extends string>(texts: Catalogue<Key>): Catalogue<Key> {
  return texts;
}

const STORED = 'brokergraph-language';

/** The language that the person has chosen, otherwise the browser's first one that the console has. */
export function firstLanguage(): string {
  const wanted = [localStorage.getItem(STORED) ?? '', ...navigator.languages.map((tag) => tag.slice(0, 2))];
  return wanted.find((language) => Object.hasOwn(LANGUAGES, language)) ?? 'en';
}

export const storeLanguage = (language: string): void => localStorage.setItem(STORED, language);

export const Language = createContext('en');

type Values = Readonly<Record<string, string | number | null | undefined>>;

export type Translate<Key extends string> = (text: Key, values?: Values) => string;

type CommonKey = keyof typeof common.en;

/** Translates the keys of a catalogue and the words that all screens share. */
export function useTexts(): Translate<CommonKey>;
export function useTexts<Key extends string>(texts: Catalogue<Key>): Translate<Key | CommonKey>;
export function useTexts(texts?: Catalogue<string>): Translate<string> {
  const language = useContext(Language) as LanguageKey;
  const known: Readonly<Record<string, string>> = { ...common[language], ...texts?.[language] };
  return (text, values) => filled(known[text] ?? text, values);
}

/** A text with the values for its places. */
export const filled = (text: string, values: Values = {}): string =>
  text.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? ''));

export function useNumbers(): (number: number) => string {
  const format = new Intl.NumberFormat(useContext(Language), { maximumFractionDigits: 1 });
  return (number) => format.format(number);
}

const MOMENT = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;

/** Local date and time, in 24 hours. The year is shown if it is another one than now. */
export function useTimes(): (time: string | number) => string {
  const language = useContext(Language);
  const formatOf = (year?: 'numeric') => new Intl.DateTimeFormat(language, { ...MOMENT, hourCycle: 'h23', year });
  const [short, long] = [formatOf(), formatOf('numeric')];
  return (time) => {
    const moment = new Date(time);
    return (moment.getFullYear() === new Date().getFullYear() ? short : long).format(moment);
  };
}
