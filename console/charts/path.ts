import type { Span } from './range.ts';

export type Values = readonly (number | null)[];

/** Equal steps of time. */
export interface Steps {
  /** Beginning of the first step, epoch milliseconds. */
  readonly from: number;
  readonly stepMs: number;
  readonly count: number;
}

/** Where values are in a picture, in pixels. */
export interface Scale {
  readonly x: (time: number) => number;
  readonly y: (value: number) => number;
}

/** `height` is that of the plot; the largest value is at its top. */
export const scaleOf = ({ from, to }: Span, max: number, width: number, height: number): Scale => ({
  x: (time) => ((time - from) / (to - from)) * width,
  y: (value) => height - (value / max) * height,
});

const middleOf = ({ from, stepMs }: Steps, nth: number): number => from + (nth + 0.5) * stepMs;
const round = (pixels: number): number => Math.round(pixels * 10) / 10;

/** Stretches of known values: first and last position of each. */
export function stretches(values: Values): (readonly [first: number, last: number])[] {
  const found: [number, number][] = [];
  for (const [nth, value] of values.entries()) {
    if (value === null) continue;
    const last = found.at(-1);
    if (last !== undefined && last[1] === nth - 1) last[1] = nth;
    else found.push([nth, nth]);
  }
  return found;
}

/** A line that ends where a value is unknown, as the `d` of a path. A single value is a dot. */
export function linePath(values: Values, steps: Steps, { x, y }: Scale): string {
  return stretches(values)
    .map(([first, last]) => {
      const points: string[] = [];
      for (let nth = first; nth <= last; nth++)
        points.push(`${round(x(middleOf(steps, nth)))} ${round(y(values[nth] ?? 0))}`);
      return `M${points.join('L')}${first === last ? 'h0.01' : ''}`;
    })
    .join('');
}

/** The area between two series, where both are known. */
export function bandPath(lower: Values, upper: Values, steps: Steps, { x, y }: Scale): string {
  const known = lower.map((value, nth) => (upper[nth] == null ? null : value));
  return stretches(known)
    .map(([first, last]) => {
      const there: string[] = [];
      const back: string[] = [];
      for (let nth = first; nth <= last; nth++) {
        const at = round(x(middleOf(steps, nth)));
        there.push(`${at} ${round(y(upper[nth] ?? 0))}`);
        back.unshift(`${at} ${round(y(lower[nth] ?? 0))}`);
      }
      return `M${[...there, ...back].join('L')}Z`;
    })
    .join('');
}

/** Times in which all series are unknown. */
export function gapsIn(series: readonly Values[], { from, stepMs, count }: Steps): Span[] {
  const gaps: { from: number; to: number }[] = [];
  for (let nth = 0; nth < count; nth++) {
    if (series.some((values) => values[nth] != null)) continue;
    const start = from + nth * stepMs;
    const last = gaps.at(-1);
    if (last !== undefined && last.to === start) last.to = start + stepMs;
    else gaps.push({ from: start, to: start + stepMs });
  }
  return gaps;
}
