import { useContext, useState } from 'react';
import { ChooseLanguage } from '../texts/choose-language.ts';
import { LANGUAGES, Language, useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { ownAccountTexts } from './texts.ts';
import { chooseTheme, storedTheme, THEMES } from './theme.ts';

/** Theme and language, which this browser remembers. */
export function Appearance() {
  const text = useTexts(ownAccountTexts);
  const language = useContext(Language);
  const chooseLanguage = useContext(ChooseLanguage);
  const [theme, setTheme] = useState(storedTheme);
  return (
    <>
      <h2>{text('appearance')}</h2>
      <div className="fields">
        <Field label={text('theme')}>
          <select
            value={theme}
            onChange={({ currentTarget: { value } }) => {
              const chosen = THEMES.find((one) => one === value) ?? 'system';
              chooseTheme(chosen);
              setTheme(chosen);
            }}
          >
            {THEMES.map((one) => (
              <option key={one} value={one}>
                {text(one)}
              </option>
            ))}
          </select>
        </Field>
        <Field label={text('languageOfConsole')}>
          <select value={language} onChange={({ currentTarget: { value } }) => chooseLanguage(value)}>
            {Object.entries(LANGUAGES).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </Field>
      </div>
    </>
  );
}
