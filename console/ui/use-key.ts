import { useEffect, useRef } from 'react';

/** Runs `action` when the key is pressed on any screen, unless a dialog is open. */
export function useKey(isKey: (event: KeyboardEvent) => boolean, action: () => void): void {
  const run = useRef(action);
  run.current = action;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isKey(event) || isDialogOpen()) return;
      event.preventDefault();
      run.current();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [isKey]);
}

export const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

/** Whether a key pressed on `target` is a character of a field. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null;
