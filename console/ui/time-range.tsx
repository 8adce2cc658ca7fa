import { CalendarClock } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Calendar } from './calendar.tsx';
import { Field } from './field.tsx';
import { filterTexts } from './filter-texts.ts';
import { dayAfter, dayOf, localTime, timeOfInput } from './local-time.ts';
import { Menu } from './menu.tsx';
import { RangeChoice } from './range-choice.tsx';
import { useZone } from './use-zone.ts';
import './time.css';

export interface Times {
  /** In ISO 8601. Empty: without this end. */
  readonly from: string;
  readonly to: string;
}

interface TimeRangeProps extends Times {
  /** What the button shows. Default: the times. */
  readonly button?: ReactNode;
  readonly isChosen?: boolean;
  /** Whether there are times without an end, and ranges that are selected with one click. Default: true. */
  readonly isOpenEnded?: boolean;
  readonly onRange: (times: Times) => void;
}

/** A button that opens a choice of a time: ranges up to now, a calendar, and fields for exact local times. */
export function TimeRange({ from, to, button, isChosen, isOpenEnded = true, onRange }: TimeRangeProps) {
  const text = useTexts(filterTexts);
  const zone = useZone();
  const [begin, end] = [localTime(from), localTime(to)];
  const shown = begin || end ? `${begin || '…'} – ${end || text('now')}` : text('anyTime');
  return (
    <Menu
      className={(isChosen ?? shown !== text('anyTime')) ? 'chosen' : undefined}
      title={text('zone', { zone })}
      button={
        button ?? (
          <>
            <CalendarClock aria-hidden="true" /> {shown}
          </>
        )
      }
    >
      <TimeForm key={`${from} ${to}`} from={begin} to={end} isOpenEnded={isOpenEnded} onRange={onRange} />
    </Menu>
  );
}

function TimeForm({
  from,
  to,
  isOpenEnded,
  onRange,
}: Required<Pick<TimeRangeProps, 'isOpenEnded' | 'onRange'>> & Times) {
  const text = useTexts(filterTexts);
  const zone = useZone();
  const [typed, setTyped] = useState({ from, to });
  const times = { from: timeOfInput(typed.from), to: timeOfInput(typed.to) };
  const isKnown = (key: 'from' | 'to') => times[key] !== '' || (isOpenEnded && typed[key] === '');
  const isOrdered = times.from === '' || times.to === '' || times.from < times.to;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onRange(times);
    event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover();
  };
  // The end is not part of the time.
  const lastDay = times.to === '' ? typed.to.slice(0, 10) : dayOf(Date.parse(times.to) - 1);
  // The first day that is chosen is the beginning, a later one the end.
  const choose = (day: string) =>
    setTyped(
      typed.from !== '' && typed.to === '' && day >= typed.from.slice(0, day.length)
        ? { ...typed, to: `${dayAfter(day)} 00:00` }
        : { from: `${day} 00:00`, to: '' },
    );
  return (
    <form className="time-range" onSubmit={submit}>
      {isOpenEnded && <RangeChoice onRange={onRange} />}
      <Calendar from={typed.from.slice(0, 10)} to={lastDay} onDay={choose} />
      <div className="time-fields">
        {(['from', 'to'] as const).map((key) => (
          <Field key={key} label={text(key)}>
            <input
              name={key}
              value={typed[key]}
              placeholder={localTime(new Date().setSeconds(0, 0))}
              title={text('zone', { zone })}
              autoComplete="off"
              aria-invalid={!isKnown(key) || !isOrdered}
              onInput={({ currentTarget: { value } }) => setTyped({ ...typed, [key]: value })}
            />
          </Field>
        ))}
      </div>
      <p className="buttons">
        <small>{text('zone', { zone })}</small>
        {/* A click on a button closes a menu, and the form is sent by then. */}
        <button type="submit" disabled={!isKnown('from') || !isKnown('to') || !isOrdered}>
          {text('apply')}
        </button>
      </p>
    </form>
  );
}
