import { useTexts } from '../texts/texts.ts';
import { type Format, isNumber } from './line.ts';
import { bandPath, linePath, scaleOf, type Values } from './path.ts';
import { chartTexts } from './texts.ts';
import './style.css';

interface SparklineProps {
  /** What the values are, for screen readers. */
  readonly title: string;
  readonly values: Values;
  readonly format: Format;
}

/** Of the coordinates. The element is as large as its place. */
const [WIDTH, HEIGHT] = [120, 28];

/**
 * The shape of a series in the size of a word, from zero to its largest value. It begins with the first known value, so
 * that one that was measured for some minutes only has a shape as well.
 */
export function Sparkline({ title, values: all, format }: SparklineProps) {
  const text = useTexts(chartTexts);
  const known = all.filter(isNumber);
  const values = all.slice(all.findIndex(isNumber), all.findLastIndex(isNumber) + 1);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const steps = { from: 0, stepMs: 1, count: values.length };
  // From the middle of the first step to that of the last one.
  const span = { from: 0.5, to: Math.max(1, values.length - 0.5) };
  // A line of zeros is at the bottom, and the stroke needs room.
  const scale = scaleOf(span, high > 0 ? high : 1, WIDTH, HEIGHT - 3);
  const inset = { ...scale, y: (value: number) => scale.y(value) + 1.5 };
  const label =
    known.length === 0
      ? text('lineUnknown', { title })
      : text('line', { title, low: format(low), high: format(high), now: format(known.at(-1) ?? 0) });
  return (
    <svg
      className="sparkline series-1"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path
        className="band"
        d={bandPath(
          values.map((value) => value && 0),
          values,
          steps,
          inset,
        )}
      />
      <path className="line" d={linePath(values, steps, inset)} />
    </svg>
  );
}
