import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';
import { FORMATS, type Format, formatIn } from './payload.ts';
import { payloadTexts } from './payload-texts.ts';
import './style.css';

interface FormatChoiceProps {
  readonly format: Format;
  readonly onFormat: (format: Format) => void;
}

/** Chooses how payloads are shown. */
export function FormatChoice({ format, onFormat }: FormatChoiceProps) {
  const text = useTexts(payloadTexts);
  return (
    <select
      aria-label={text('format')}
      value={format}
      onChange={({ currentTarget: { value } }) => onFormat(formatIn(value))}
    >
      {FORMATS.map((name) => (
        <option key={name} value={name}>
          {text(name)}
        </option>
      ))}
    </select>
  );
}

/** Preformatted text that scrolls inside itself. */
export function PayloadView({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it (WCAG 2.1.1)
    <section className="payload-view" tabIndex={0} aria-label={label}>
      <pre>{children}</pre>
    </section>
  );
}
