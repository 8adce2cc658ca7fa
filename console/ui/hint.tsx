import type { ReactNode } from 'react';
import './hint.css';

interface HintProps {
  /** Shown when the element is pointed at or has the focus. */
  readonly text: string;
  readonly children: ReactNode;
}

/** Something brief with its explanation, for example "–" with the reason why nothing is known. */
export function Hint({ text, children }: HintProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to read the explanation (WCAG 1.4.13)
    <span className="explained" role="img" tabIndex={0} title={text} aria-label={text} data-hint={text}>
      {children}
    </span>
  );
}
