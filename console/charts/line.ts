import type { Values } from './path.ts';

/** One metric in a chart. All series have the steps of the chart. */
export interface Line {
  readonly key: string;
  readonly title: string;
  readonly mean: Values;
  readonly min: Values;
  readonly max: Values;
}

export type Format = (value: number) => string;

/** Something that happened, on the axis of time. */
export interface Mark {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The change and its author. */
  readonly text: string;
  /** The screen that shows more. `null`: there is none. */
  readonly address: string | null;
}

export const isNumber = (value: number | null | undefined): value is number => value != null;

/** The largest value of the lines; 0 if none is known. */
export const largestOf = (lines: readonly Pick<Line, 'mean' | 'max'>[]): number =>
  Math.max(0, ...lines.flatMap(({ mean, max }) => [...mean, ...max]).filter(isNumber));
