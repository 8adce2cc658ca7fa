import { createContext } from 'react';

/** Changes the language of the console, and remembers it. */
export const ChooseLanguage = createContext<(language: string) => void>(() => undefined);
