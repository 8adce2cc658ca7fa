import { useContext } from 'react';
import { Language } from '../texts/texts.ts';

/** A text of the service or of a broker, which is English in each language of the console. */
export const AsSent = ({ children }: { readonly children: string | null | undefined }) =>
  children ? <span lang="en">{children}</span> : null;

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
