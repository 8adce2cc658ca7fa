import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/problem.tsx';
import { type Found, keyOf, MAX_OF_KIND, VERBS } from './found.ts';
import type { Screens } from './places.ts';
import { addRecent } from './recent.ts';
import { searchTexts } from './texts.ts';
import { useSearch } from './use-search.ts';
import './style.css';

interface SearchDialogProps {
  readonly screens: Screens;
  /** Before the dialog was loaded. */
  readonly typed: { readonly term: string; readonly isOpening: boolean };
  readonly onClose: () => void;
}

/** Finds everything that has a screen, and goes to it. */
export function SearchDialog({ screens, typed, onClose }: SearchDialogProps) {
  const text = useTexts(searchTexts);
  const [, navigate] = useLocation();
  const { email, name } = useViewer();
  const [term, setTerm] = useState(typed.term);
  /** `null`: the first result. Others may come before the chosen one. */
  const [chosen, setChosen] = useState<string | null>(null);
  /** Enter was pressed before anything was found: the first result is opened as soon as there is one. */
  const [isOpening, setOpening] = useState(typed.isOpening);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const { found, lookUps, isBusy, error, numBrokers, numSearched, missing } = useSearch(term.trim(), screens);
  const options = [...found, ...lookUps];
  const at = options.findIndex((one) => keyOf(one) === chosen);
  const current = at < 0 ? Math.min(0, options.length - 1) : at;
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [current, list]);
  const go = (one: Found) => {
    if (!VERBS.some((verb) => verb === one.kind)) addRecent(email ?? name, one);
    onClose();
    navigate(one.address);
  };
  const target = options[current];
  useEffect(() => {
    if (isOpening && target) go(target);
  });
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const next = options[Math.min(options.length - 1, current + step)] ?? target;
    if (step !== 0) setChosen(next ? keyOf(next) : null);
    else if (event.key === 'Enter') setOpening(target !== undefined || isBusy);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={text('search')} onClose={onClose}>
      <input
        ref={input}
        className="search-term"
        enterKeyHint="go"
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={list}
        aria-activedescendant={current < 0 ? undefined : `${list}-${current}`}
        aria-label={text('searchFor')}
        placeholder={text('searchFor')}
        autoComplete="off"
        value={term}
        onInput={({ currentTarget: { value } }) => {
          setTerm(value);
          setChosen(null);
          setOpening(false);
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label={text('results')} className="search-results">
        {options.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
          <div
            key={keyOf(one)}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            onClick={() => go(one)}
          >
            <span className="quiet">{text(one.kind)}</span> <strong>{one.name}</strong>{' '}
            {one.of !== null && <span className="quiet">{one.of}</span>}
          </div>
        ))}
      </div>
      <Refusal error={error} />
      <p className="quiet" role="status">
        {isBusy ? text('searching') : found.length === 0 ? text('nothingFound') : ''}
      </p>
      <p className="quiet">
        {numSearched === null
          ? text('typeMore')
          : text('searchBound', { searched: numSearched, brokers: numBrokers, count: MAX_OF_KIND })}
      </p>
      {missing.length > 0 && <p className="note">{text('notReachable', { names: missing.join(', ') })}</p>}
    </Dialog>
  );
}
