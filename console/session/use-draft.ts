import { useContext, useState } from 'react';
import { ViewerContext } from './viewer.ts';

/** What people typed and did not save, by person and form. It is lost with the page, as it may contain secrets. */
const drafts = new Map<string, unknown>();
/** Beyond it the draft that was changed first is lost. */
const MAX_DRAFTS = 20;

interface Draft<Value> {
  readonly value: Value;
  readonly change: (part: Partial<Value>) => void;
  /** Whether the form begins with what was typed earlier. */
  readonly isRestored: boolean;
  /** Removes what was typed, because it is saved. The form still has it. */
  readonly discard: () => void;
  /** Begins with the initial values again. */
  readonly startOver: () => void;
}

/**
 * The values of a form. They outlive it: after Escape, and after a visit of another screen, the form has them again.
 * `initial` is what an untouched form has.
 */
export function useDraft<Value extends object>(form: string, initial: Value): Draft<Value> {
  const key = `${useContext(ViewerContext)?.email} ${form}`;
  const [{ value, isRestored }, setState] = useState(() => ({
    value: (drafts.get(key) as Value | undefined) ?? initial,
    isRestored: drafts.has(key),
  }));
  const change = (part: Partial<Value>) =>
    setState((before) => {
      const changed = { ...before.value, ...part };
      drafts.delete(key);
      drafts.set(key, changed);
      for (const oldest of drafts.keys()) if (drafts.size > MAX_DRAFTS) drafts.delete(oldest);
      return { ...before, value: changed };
    });
  const discard = () => void drafts.delete(key);
  const startOver = () => {
    discard();
    setState({ value: initial, isRestored: false });
  };
  return { value, change, isRestored, discard, startOver };
}
