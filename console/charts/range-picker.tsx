import { Moon } from 'lucide-react';
import type { FormEvent } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { localTime } from '../ui/local-time.ts';
import { Menu } from '../ui/menu.tsx';
import { lastNight } from '../ui/ranges.ts';
import { limited, RANGES, type Range, type RangeKey, type Span } from './range.ts';
import { chartTexts } from './texts.ts';
import { useTimeTexts } from './time-texts.ts';

interface RangePickerProps {
  readonly range: Range;
  readonly span: Span;
  readonly onRange: (range: Range) => void;
}

const KEYS = Object.keys(RANGES) as RangeKey[];

/** The time that all charts of a screen show. */
export function RangePicker({ range, span, onRange }: RangePickerProps) {
  const text = useTexts(chartTexts);
  const times = useTimeTexts();
  const show = (wanted: Span) => onRange({ key: 'custom', span: limited(wanted, Date.now()) });
  const { from, to } = lastNight(new Date());
  const night = limited({ from: from.getTime(), to: to.getTime() }, Date.now());
  const isNight = range.key === 'custom' && range.span.from === night.from && range.span.to === night.to;
  const isOther = range.key === 'custom' && !isNight;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const [from, to] = ['from', 'to'].map((name) => Date.parse(String(fields.get(name))));
    if (from !== undefined && to !== undefined && from < to) show({ from, to });
    event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover();
  };
  return (
    <fieldset className="choices" aria-label={text('range')}>
      {KEYS.map((key) => (
        <button key={key} type="button" aria-pressed={range.key === key} onClick={() => onRange({ key })}>
          {text(key)}
        </button>
      ))}
      <button type="button" aria-pressed={isNight} onClick={() => show(night)}>
        <Moon aria-hidden="true" /> {text('lastNight')}
      </button>
      <Menu
        className={isOther ? 'chosen' : undefined}
        button={isOther ? `${times.moment(span.from, 0)} – ${times.moment(span.to, 0)}` : text('fromTo')}
      >
        <form key={`${span.from} ${span.to}`} className="fields" onSubmit={submit}>
          {(['from', 'to'] as const).map((name) => (
            <Field key={name} label={text(name)}>
              <input name={name} type="datetime-local" step={1} required={true} defaultValue={localTime(span[name])} />
            </Field>
          ))}
          <p className="buttons">
            {/* A click on a button closes a menu, and the form is sent by then. */}
            <button type="submit">{text('show')}</button>
          </p>
        </form>
      </Menu>
    </fieldset>
  );
}
