import { useId, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Suggestions } from './suggestions.tsx';
import { accessTexts } from './texts.ts';

export interface Held {
  readonly name: string;
  readonly priority: number;
}

interface HeldListProps {
  readonly label: string;
  readonly kind: 'groups' | 'roles';
  readonly held: readonly Held[];
  readonly onChange: (held: readonly Held[]) => void;
}

/** Groups or roles with their priorities, of which any can be changed, added and removed. */
export function HeldList({ label, kind, held, onChange }: HeldListProps) {
  const text = useTexts(accessTexts);
  const [name, setName] = useState('');
  const list = useId();
  const add = () => {
    const wanted = name.trim();
    if (wanted === '' || held.some((one) => one.name === wanted)) return;
    onChange([...held, { name: wanted, priority: DEFAULT_PRIORITY }]);
    setName('');
  };
  return (
    <fieldset className="access-held">
      <legend>{label}</legend>
      {held.length === 0 && <p className="quiet">{text('none')}</p>}
      {held.map((one) => (
        <p key={one.name}>
          <span>{one.name}</span>
          <label>
            {text('priority')}{' '}
            <input
              type="number"
              aria-label={text('priorityOf', { name: one.name })}
              value={one.priority}
              min={-100_000}
              max={100_000}
              required
              onInput={({ currentTarget: { valueAsNumber } }) =>
                Number.isNaN(valueAsNumber) ||
                onChange(held.map((other) => (other === one ? { ...one, priority: valueAsNumber } : other)))
              }
            />
          </label>
          <button
            type="button"
            aria-label={text('removeName', { name: one.name })}
            onClick={() => onChange(held.filter((other) => other !== one))}
          >
            {text('remove')}
          </button>
        </p>
      ))}
      <p>
        <input
          aria-label={text(kind === 'roles' ? 'addRole' : 'addGroup')}
          placeholder={text(kind === 'roles' ? 'addRole' : 'addGroup')}
          list={list}
          value={name}
          onInput={({ currentTarget: { value } }) => setName(value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            add();
          }}
        />
        <Suggestions id={list} kind={kind} typed={name} />
        <button type="button" onClick={add} aria-label={text(kind === 'roles' ? 'addTheRole' : 'addTheGroup')}>
          {text('add')}
        </button>
      </p>
    </fieldset>
  );
}

/** That of Mosquitto. */
const DEFAULT_PRIORITY = -1;
