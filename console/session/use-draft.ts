import { useContext, useState } from 'react';
import { ViewerContext } from './viewer.ts';

/** Values that people typed and did not save, and those that the form began with. */
interface Typed {
  readonly initial: unknown;
  readonly value: unknown;
}

/** By person and form. They are lost with the page. */
const drafts = new Map<string, Typed>();
/** Beyond it the draft that was changed first is lost. */
const MAX_DRAFTS = 20;

export interface Draft<Value> {
  readonly value: Value;
  /** Values before the first change. */
  readonly initial: Value;
  readonly change: (part: Partial<Value>) => void;
  /** Whether the form begins with what was typed earlier. */
  readonly isRestored: boolean;
  /** Whether the initial values are other ones now, for example because another person changed the object. */
  readonly hasChanged: boolean;
  /** Removes what was typed, because it is saved. The form still has it. */
  readonly discard: () => void;
  /** Begins with the initial values again. */
  readonly startOver: () => void;
}

/**
 * The values of a form. They outlive it: after Escape, and after a visit of another screen, the form has them again.
 * `initial` is what an untouched form has. `withoutSecrets` returns the values that outlive the form. Default: all.
 */
export function useDraft<Value extends object>(
  form: string,
  initial: Value,
  withoutSecrets: (value: Value) => Value = (value) => value,
): Draft<Value> {
  const key = `${useContext(ViewerContext)?.email} ${form}`;
  const [state, setState] = useState(() => {
    const typed = drafts.get(key) as Pick<Draft<Value>, 'initial' | 'value'> | undefined;
    return { ...(typed ?? { initial, value: initial }), isRestored: typed !== undefined };
  });
  const change = (part: Partial<Value>) =>
    setState((before) => {
      const value = { ...before.value, ...part };
      const typed = { initial: before.initial, value: withoutSecrets(value) };
      drafts.delete(key);
      if (inText(typed.value) !== inText(before.initial)) drafts.set(key, typed);
      for (const oldest of drafts.keys()) if (drafts.size > MAX_DRAFTS) drafts.delete(oldest);
      return { ...before, value };
    });
  const discard = () => void drafts.delete(key);
  const startOver = () => {
    discard();
    setState({ initial, value: initial, isRestored: false });
  };
  return { ...state, change, hasChanged: inText(state.initial) !== inText(initial), discard, startOver };
}

const inText = (value: unknown): string => JSON.stringify(value);
