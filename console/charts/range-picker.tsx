import { Moon } from 'lucide-react';
import { useTexts } from '../texts/texts.ts';
import { lastNight } from '../ui/ranges.ts';
import { TimeRange } from '../ui/time-range.tsx';
import { RANGES, type Range, type RangeKey, type Span, until } from './range.ts';
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
  const show = (wanted: Span) => onRange({ key: 'custom', span: until(wanted, Date.now()) });
  const { from, to } = lastNight(new Date());
  const night = { from: from.getTime(), to: to.getTime() };
  // A night that is not over ends when it was chosen.
  const isEnd = (time: number) => time === night.to || (time < night.to && Date.now() < night.to);
  const isNight = range.key === 'custom' && range.span.from === night.from && isEnd(range.span.to);
  const isOther = range.key === 'custom' && !isNight;
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
      <TimeRange
        from={new Date(span.from).toISOString()}
        to={new Date(span.to).toISOString()}
        isChosen={isOther}
        isOpenEnded={false}
        button={isOther ? `${times.moment(span.from, 0)} – ${times.moment(span.to, 0)}` : text('fromTo')}
        onRange={(chosen) => show({ from: Date.parse(chosen.from), to: Date.parse(chosen.to) })}
      />
    </fieldset>
  );
}
