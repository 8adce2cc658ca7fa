/** Texts of a language by the names of catalogues and their keys. English has none: its texts are in the code. */
type Translations = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface LoadedLanguage {
  readonly tag: string;
  readonly translations: Translations;
}

interface Choice {
  /** In the language itself. */
  readonly name: string;
  readonly load: () => Promise<{ readonly default: Translations }>;
}

/** Each language by its tag. Its catalogues are loaded when it is chosen. */
export const LANGUAGES: Readonly<Record<string, Choice>> = {
  en: { name: 'English', load: () => Promise.resolve({ default: {} }) },
  de: { name: 'Deutsch', load: () => import('./catalogues/de.json') },
  es: { name: 'Español', load: () => import('./catalogues/es.json') },
  fr: { name: 'Français', load: () => import('./catalogues/fr.json') },
};

const STORED = 'brokergraph-language';

/** The language that the person has chosen, otherwise the browser's first one that the console has. */
export function firstLanguage(): string {
  const wanted = [localStorage.getItem(STORED) ?? '', ...navigator.languages.map((tag) => tag.slice(0, 2))];
  return wanted.find((language) => Object.hasOwn(LANGUAGES, language)) ?? 'en';
}

export const storeLanguage = (language: string): void => localStorage.setItem(STORED, language);

export async function loadLanguage(tag: string): Promise<LoadedLanguage> {
  const translations = (await LANGUAGES[tag]?.load())?.default ?? {};
  return { tag, translations };
}
