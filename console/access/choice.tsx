import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { MoveAccounts } from './move-accounts.tsx';
import { moveTexts } from './move-texts.ts';

interface Choosable {
  readonly username: string;
  readonly isGateway: boolean;
}

/** The account of this service belongs to its broker, so it cannot be chosen. */
const namesIn = (accounts: readonly Choosable[]): readonly string[] =>
  accounts.filter(({ isGateway }) => !isGateway).map(({ username }) => username);

/** Accounts that are chosen for a common action, also those of other pages of the list. */
export function useChoice() {
  const text = useTexts(moveTexts);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (usernames: readonly string[], isChosen: boolean) =>
    setChosen((before) => {
      const others = [...before].filter((username) => !usernames.includes(username));
      return new Set(isChosen ? [...others, ...usernames] : others);
    });
  const column: Column<Choosable> = {
    key: 'choose',
    title: text('choose'),
    isLeading: true,
    cell: ({ username, isGateway }) =>
      !isGateway && (
        <input
          type="checkbox"
          aria-label={text('chooseOf', { name: username })}
          checked={chosen.has(username)}
          onChange={({ currentTarget: { checked } }) => choose([username], checked)}
        />
      ),
    value: ({ username }) => chosen.has(username),
  };
  return { chosen, choose, column };
}

interface ChoiceBarProps {
  readonly accounts: readonly Choosable[];
  readonly choice: ReturnType<typeof useChoice>;
}

/** How many accounts are chosen, and what can be done with them. */
export function ChoiceBar({ accounts, choice: { chosen, choose } }: ChoiceBarProps) {
  const text = useTexts(moveTexts);
  const [moving, setMoving] = useState<readonly string[] | null>(null);
  const names = namesIn(accounts);
  const close = () => {
    choose([...chosen], false);
    setMoving(null);
  };
  return (
    <div className="bar">
      <label>
        <input
          type="checkbox"
          checked={names.length > 0 && names.every((name) => chosen.has(name))}
          onChange={({ currentTarget: { checked } }) => choose(names, checked)}
        />{' '}
        {text('choosePage')}
      </label>
      {chosen.size > 0 && (
        <>
          <span className="quiet">{text('chosen', { count: chosen.size })}</span>
          <button type="button" onClick={() => setMoving([...chosen].sort())}>
            {text('move')} …
          </button>
        </>
      )}
      {moving && <MoveAccounts usernames={moving} onClose={close} />}
    </div>
  );
}
