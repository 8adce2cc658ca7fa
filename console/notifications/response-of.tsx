import { useTexts } from '../texts/texts.ts';
import { channelTexts } from './texts.ts';

interface ResponseOfProps {
  readonly outcome: {
    readonly error: string | null;
    readonly responseStatus: number | null;
    readonly response: string | null;
  };
}

/** What a receiver responded, or why there was no response. */
export function ResponseOf({ outcome: { error, responseStatus, response } }: ResponseOfProps) {
  const text = useTexts(channelTexts);
  return (
    <div className="response">
      {error !== null && <p lang="en">{error}</p>}
      {error === null && responseStatus !== null && <p>{text('status', { status: responseStatus })}</p>}
      {response !== null && response !== '' && (
        <details>
          <summary>{text('response')}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it (WCAG 2.1.1) */}
          <pre tabIndex={0}>{response}</pre>
        </details>
      )}
    </div>
  );
}
