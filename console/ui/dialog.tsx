import { X } from 'lucide-react';
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { useTexts } from '../texts/texts.ts';
import './dialog.css';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A modal dialog while it is rendered. The focus stays in it, and returns afterwards. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const text = useTexts();
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key: it belongs to the dialog.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // Not only removed: the browser returns the focus of a dialog that is closed.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        // The chooser of a file input is cancelled as well.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" className="icon" aria-label={text('close')} onClick={onClose}>
          <X aria-hidden="true" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
