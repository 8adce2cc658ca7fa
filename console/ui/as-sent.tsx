import { type ReactNode, useContext } from 'react';
import { Language, useLanguage } from '../texts/texts.ts';

/** A text of the service or of a broker, which is English in each language of the console. */
export const AsSent = ({ children }: { readonly children: string | null | undefined }) =>
  children ? <span lang="en">{children}</span> : null;

interface WithTooltipProps {
  /** A text of the service or of a broker. */
  readonly tooltip: string | null | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

/** Words of the console with a tooltip that is English in each language. */
export function WithTooltip({ tooltip, className, children }: WithTooltipProps) {
  const language = useLanguage();
  if (!tooltip) return <span className={className}>{children}</span>;
  return (
    <span className={className} title={tooltip} lang="en">
      <span lang={language}>{children}</span>
    </span>
  );
}

interface RefusedText {
  readonly code: string;
  readonly message: string;
}

/** Why an operation was denied: by its code in the language of the person, then in the words of the service. */
export function RefusedText({ error: { code, message } }: { readonly error: RefusedText }) {
  const { translations } = useContext(Language);
  const translated = translations['audit/code']?.[code];
  return (
    <>
      {translated && `${translated}: `}
      <AsSent>{message}</AsSent>
    </>
  );
}
