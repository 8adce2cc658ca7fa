import { useEffect, useRef } from 'react';

/** Runs `action` when the key is pressed on any screen, unless a dialog is open. */
export function useKey(isKey: (event: KeyboardEvent) => boolean, action: () => void): void {
  const run = useRef(action);
  run.current = action;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isKey(event) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      run.current();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [isKey]);
}
