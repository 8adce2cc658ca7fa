import { Calendar as CalendarIcon } from 'lucide-react';
import { useId } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Calendar } from './calendar.tsx';
import { filterTexts } from './filter-texts.ts';
import { localTime, timeOfInput } from './local-time.ts';
import { Menu } from './menu.tsx';
import { useZone } from './use-zone.ts';
import './time.css';

interface TimeFieldProps {
  readonly label: string;
  readonly hint?: string;
  /** As it is typed: local, `yyyy-mm-dd hh:mm`. */
  readonly value: string;
  /** Whether only the day is wanted. Default: false. */
  readonly isDay?: boolean;
  readonly required?: boolean;
  readonly onValue: (value: string) => void;
}

/** A field for a local time, with a calendar. */
export function TimeField({ label, hint, value, isDay = false, required = false, onValue }: TimeFieldProps) {
  const text = useTexts(filterTexts);
  const zone = useZone();
  const id = useId();
  const [day = '', time = '00:00'] = value.trim().split(/[ T]/);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="time-field">
        <input
          id={id}
          required={required}
          value={value}
          placeholder={localTime(new Date().setSeconds(0, 0)).slice(0, isDay ? 10 : undefined)}
          title={text('zone', { zone })}
          autoComplete="off"
          aria-invalid={value !== '' && timeOfInput(value) === ''}
          aria-describedby={hint === undefined ? undefined : `${id} hint`}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
        <Menu className="icon" label={text('openCalendar')} button={<CalendarIcon aria-hidden="true" />}>
          <Calendar
            key={day}
            from={timeOfInput(day) === '' ? '' : day}
            to=""
            onDay={(chosen) => onValue(isDay ? chosen : `${chosen} ${time}`)}
          />
        </Menu>
      </div>
      {hint !== undefined && <small id={`${id} hint`}>{hint}</small>}
    </div>
  );
}
