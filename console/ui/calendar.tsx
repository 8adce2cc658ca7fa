import { ChevronLeft, ChevronRight } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useLanguage, useTexts } from '../texts/texts.ts';
import { filterTexts } from './filter-texts.ts';
import { dayOf } from './local-time.ts';

interface CalendarProps {
  /** The first and the last chosen day, as `yyyy-mm-dd`. Empty: none. */
  readonly from: string;
  readonly to: string;
  readonly onDay: (day: string) => void;
}

/** Rows of a week that starts on Monday, enough for each month. */
const WEEK = 7;
const SHOWN = 6 * WEEK;
const STEPS = new Map([
  ['ArrowLeft', -1],
  ['ArrowRight', 1],
  ['ArrowUp', -WEEK],
  ['ArrowDown', WEEK],
]);

/** The days of a month, of which one can be chosen. Arrow keys move between them. */
export function Calendar({ from, to, onDay }: CalendarProps) {
  const text = useTexts(filterTexts);
  const language = useLanguage();
  const [day, setDay] = useState(() => new Date(`${from || dayOf(Date.now())}T12:00`));
  const grid = useRef<HTMLDivElement>(null);
  const isMoved = useRef(false);
  const first = addDays(day, 1 - day.getDate());
  const begin = addDays(first, -((first.getDay() + WEEK - 1) % WEEK));
  const days = Array.from({ length: SHOWN }, (_, nth) => addDays(begin, nth));
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options);
  const [name, weekday] = [format({ dateStyle: 'full' }), format({ weekday: 'narrow' })];
  useEffect(() => {
    if (isMoved.current) grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    isMoved.current = false;
  }, [day]);
  const press = (event: KeyboardEvent) => {
    const step = STEPS.get(event.key);
    if (step === undefined) return;
    event.preventDefault();
    isMoved.current = true;
    setDay(addDays(day, step));
  };
  const turn = (months: number) => setDay(new Date(first.getFullYear(), first.getMonth() + months, 1, 12));
  return (
    <fieldset className="calendar" aria-label={text('calendar')} data-stays="">
      <div>
        <button type="button" className="icon" aria-label={text('previousMonth')} onClick={() => turn(-1)}>
          <ChevronLeft aria-hidden="true" />
        </button>
        <strong role="status">{format({ month: 'long', year: 'numeric' }).format(day)}</strong>
        <button type="button" className="icon" aria-label={text('nextMonth')} onClick={() => turn(1)}>
          <ChevronRight aria-hidden="true" />
        </button>
      </div>
      <div ref={grid}>
        {days.slice(0, WEEK).map((one) => (
          <small key={one.getDay()} aria-hidden="true">
            {weekday.format(one)}
          </small>
        ))}
        {days.map((one) => {
          const value = dayOf(one.getTime());
          return (
            <button
              key={value}
              type="button"
              aria-label={name.format(one)}
              aria-current={value === dayOf(Date.now()) ? 'date' : undefined}
              aria-pressed={value === from || (value >= from && value <= to)}
              className={one.getMonth() === day.getMonth() ? undefined : 'quiet'}
              tabIndex={one.getTime() === day.getTime() ? 0 : -1}
              onKeyDown={press}
              onClick={() => {
                setDay(one);
                onDay(value);
              }}
            >
              {one.getDate()}
            </button>
          );
        })}
      </div>
    </fieldset>
  );
}

/** At noon, which no change of the clock moves to another day. */
function addDays(day: Date, days: number): Date {
  const other = new Date(day);
  other.setDate(day.getDate() + days);
  return other;
}
