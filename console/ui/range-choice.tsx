import { useTexts } from '../texts/texts.ts';
import { filterTexts } from './filter-texts.ts';
import { RANGES, timesOf } from './ranges.ts';

interface RangeChoiceProps {
  /** Called with names and values of the address. */
  readonly onRange: (times: { readonly from: string; readonly to: string }) => void;
}

/** Buttons that select a time which ends now, or on this day. */
export function RangeChoice({ onRange }: RangeChoiceProps) {
  const text = useTexts(filterTexts);
  return (
    <fieldset className="presets">
      <legend className="hidden">{text('ranges')}</legend>
      {RANGES.map((range) => (
        <button
          key={range}
          type="button"
          title={range === 'lastNight' ? text('lastNightMeans') : undefined}
          onClick={() => onRange(timesOf(range, new Date()))}
        >
          {text(range)}
        </button>
      ))}
    </fieldset>
  );
}
