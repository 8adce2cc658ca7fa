import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { userMenuTexts } from './texts.ts';
import { chooseTheme, storedTheme, THEMES } from './theme.ts';

export function ThemeSelect() {
  const text = useTexts(userMenuTexts);
  const [theme, setTheme] = useState(storedTheme);
  const choose = (value: string) => {
    const chosen = THEMES.find((one) => one === value) ?? 'system';
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <Field label={text('theme')}>
      <select value={theme} onChange={({ currentTarget: { value } }) => choose(value)}>
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {text(one)}
          </option>
        ))}
      </select>
    </Field>
  );
}
