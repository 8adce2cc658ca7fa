import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';

export function CommandToCopy({ command }: { readonly command: string }) {
  const text = useTexts();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
  };
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it (WCAG 2.1.1) */}
      <pre tabIndex={0}>{command}</pre>
      <button type="button" onClick={() => void copy()}>
        {text(isCopied ? 'copied' : 'copy')}
      </button>
    </div>
  );
}
