import { useId } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Suggestions } from './suggestions.tsx';
import { accessTexts } from './texts.ts';

export interface Held {
  readonly name: string;
  readonly priority: number;
  /** Whether the name is still in the field for new ones. It is added at the latest with the form. */
  readonly isTyped?: boolean;
}

/** All with the one that is typed. */
export const withTyped = (held: readonly Held[]): readonly Held[] =>
  held
    .map((one) => (one.isTyped ? { name: one.name.trim(), priority: one.priority } : one))
    .filter(({ name }, at, all) => name !== '' && all.findIndex((other) => other.name === name) === at);

interface HeldListProps {
  readonly label: string;
  readonly kind: 'groups' | 'roles';
  readonly held: readonly Held[];
  readonly onChange: (held: readonly Held[]) => void;
}

/** Groups or roles with their priorities, of which any can be changed, added and removed. */
export function HeldList({ label, kind, held, onChange }: HeldListProps) {
  const text = useTexts(accessTexts);
  const list = useId();
  const added = held.filter(({ isTyped }) => !isTyped);
  const name = held.find(({ isTyped }) => isTyped)?.name ?? '';
  const add = () => onChange(withTyped(held));
  return (
    <fieldset className="access-held">
      <legend>{label}</legend>
      {added.length === 0 && <p className="quiet">{text('none')}</p>}
      {added.map((one) => (
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
          onInput={({ currentTarget: { value } }) =>
            onChange([...added, { name: value, priority: DEFAULT_PRIORITY, isTyped: true }])
          }
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
