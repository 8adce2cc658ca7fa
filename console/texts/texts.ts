import { createContext, useContext } from 'react';
import { common } from './common.ts';
import type { LoadedLanguage } from './languages.ts';

/** English texts of a folder. Other languages have them under the same keys in a catalogue of one of the names. */
export interface Catalogue<Key extends string> {
  readonly names: readonly string[];
  readonly en: Readonly<Record<Key, string>>;
}

/**
 * A text may have places for values: `{name}`, and for words by a number: `{count:client|clients}`, first for one
 * thing, then for other numbers, by the rules of the language. `name` of the catalogue is that of the file: `project`
 * for `project/texts.ts`, `project/token` for `project/token-texts.ts`. Texts of `base` are included.
 */
export function catalogue<Key extends string, BaseKey extends string = never>(
  name: string,
  texts: Readonly<Record<Key, string>>,
  base?: Catalogue<BaseKey>,
): Catalogue<Key | BaseKey> {
  // The compiler does not know which keys two generic objects have together.
  const en = { ...base?.en, ...texts } as Readonly<Record<Key | BaseKey, string>>;
  return { names: [name, ...(base?.names ?? [])], en };
}

const COMMON = catalogue('common', common);

export const Language = createContext<LoadedLanguage>({ tag: 'en', translations: {} });

/** The tag of the language, for formats of Intl. */
export const useLanguage = (): string => useContext(Language).tag;

type Values = Readonly<Record<string, string | number | null | undefined>>;

export type Translate<Key extends string> = (text: Key, values?: Values) => string;

type CommonKey = keyof typeof common;

/** Translates the keys of a catalogue and the words that all screens share. */
export function useTexts(): Translate<CommonKey>;
export function useTexts<Key extends string>(texts: Catalogue<Key>): Translate<Key | CommonKey>;
export function useTexts(texts: Catalogue<string> = COMMON): Translate<string> {
  return translate(texts, useContext(Language));
}

/** As `useTexts`, in a given language. */
export function translate<Key extends string>(texts: Catalogue<Key>, language: LoadedLanguage): Translate<Key>;
export function translate(texts: Catalogue<string>, { tag, translations }: LoadedLanguage): Translate<string> {
  const textIn = ({ names, en }: Catalogue<string>, key: string) => {
    const place = names.find((name) => translations[name]?.[key] !== undefined);
    return place === undefined ? en[key] : translations[place]?.[key];
  };
  return (key, values) => filled(textIn(texts, key) ?? textIn(COMMON, key) ?? key, values, tag);
}

const PLACE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g;

/** A text with the values for its places, and the words for their numbers in the language. */
export function filled(text: string, values: Values = {}, language = 'en'): string {
  return text.replaceAll(PLACE, (_all, name: string, one?: string, other?: string) => {
    const value = String(values[name] ?? '');
    return one === undefined ? value : String(isOne(value, language) ? one : other);
  });
}

/** Numbers may be formatted already. Counts other than 0 and 1 are singular in none of the languages. */
const isOne = (number: string, language: string): boolean =>
  ['0', '1'].includes(number) && new Intl.PluralRules(language).select(Number(number)) === 'one';

export function useNumbers(): (number: number) => string {
  const format = new Intl.NumberFormat(useLanguage(), { maximumFractionDigits: 1 });
  return (number) => format.format(number);
}

const MOMENT = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;

/** The local day of a time, with its weekday. */
export function useDays(): (time: string) => string {
  const format = new Intl.DateTimeFormat(useLanguage(), { dateStyle: 'full' });
  return (time) => format.format(new Date(time));
}

/** Local date and time, in 24 hours. The year is shown if it is another one than now. */
export function useTimes(): (time: string | number) => string {
  const language = useLanguage();
  const formatOf = (year?: 'numeric') => new Intl.DateTimeFormat(language, { ...MOMENT, hourCycle: 'h23', year });
  const [short, long] = [formatOf(), formatOf('numeric')];
  return (time) => {
    const moment = new Date(time);
    return (moment.getFullYear() === new Date().getFullYear() ? short : long).format(moment);
  };
}
