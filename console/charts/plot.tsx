import { memo } from 'react';
import { timeTicks, valueTicks } from './axis.ts';
import { type Format, type Line, largestOf, type Mark } from './line.ts';
import { bandPath, gapsIn, linePath, type Scale, type Steps, scaleOf } from './path.ts';
import type { Span } from './range.ts';
import { useTimeTexts } from './time-texts.ts';

/** In pixels. The left side has the numbers of the axis. */
export const PLOT_HEIGHT = 168;
const EDGE = { top: 8, right: 8, bottom: 22 } as const;
const LABEL_PIXELS = 6.6;
const TICK_PIXELS = 62;

export interface PlotShape {
  readonly left: number;
  readonly width: number;
  readonly height: number;
  readonly ticks: readonly number[];
  readonly scale: Scale;
}

interface ShapeOptions {
  readonly lines: readonly Line[];
  readonly span: Span;
  /** Of the whole picture, in pixels. */
  readonly width: number;
  readonly format: Format;
  /** Whether values are whole numbers. */
  readonly isWhole: boolean;
}

/** Where the plot is in its picture. */
export function shapeOf({ lines, span, width, format, isWhole }: ShapeOptions): PlotShape {
  const ticks = valueTicks(largestOf(lines), isWhole);
  const left = Math.ceil(Math.max(...ticks.map((tick) => format(tick).length)) * LABEL_PIXELS) + 10;
  const inner = { width: Math.max(1, width - left - EDGE.right), height: PLOT_HEIGHT - EDGE.top - EDGE.bottom };
  return { left, ...inner, ticks, scale: scaleOf(span, ticks.at(-1) ?? 1, inner.width, inner.height) };
}

interface PlotProps {
  readonly lines: readonly Line[];
  readonly steps: Steps;
  readonly span: Span;
  readonly shape: PlotShape;
  readonly format: Format;
  readonly marks: readonly Mark[];
}

/** Axes, gaps, areas below the lines, bands from minimum to maximum, lines of means, and marks. */
export const Plot = memo(({ lines, steps, span, shape, format, marks }: PlotProps) => {
  const times = useTimeTexts();
  const { left, width, height, ticks, scale } = shape;
  const gaps = gapsIn(
    lines.map(({ mean }) => mean),
    steps,
  );
  const within = (time: number) => Math.min(width, Math.max(0, scale.x(time)));
  return (
    <g transform={`translate(${left} ${EDGE.top})`}>
      {gaps.map(({ from, to }) => (
        <rect
          key={from}
          className="gap"
          x={within(from)}
          width={Math.max(0, within(to) - within(from))}
          y={0}
          height={height}
        />
      ))}
      {ticks.map((tick) => (
        <g key={tick}>
          <line className="grid" x1={0} x2={width} y1={scale.y(tick)} y2={scale.y(tick)} />
          <text x={-8} y={scale.y(tick)} dy="0.32em" textAnchor="end">
            {format(tick)}
          </text>
        </g>
      ))}
      {timeTicks(span, Math.floor(width / TICK_PIXELS)).map(({ at, shows }) => (
        <text
          key={at}
          className={shows === 'DATE' ? 'date' : undefined}
          x={scale.x(at)}
          y={height + 16}
          textAnchor={anchorAt(scale.x(at), width)}
        >
          {times[shows](at)}
        </text>
      ))}
      {marks.map(({ key, at }) => (
        <line key={key} className="mark" x1={scale.x(at)} x2={scale.x(at)} y1={0} y2={height} />
      ))}
      {lines.slice(0, 2).map(({ key, mean }, nth) => (
        <path key={key} className={`area series-${nth + 1}`} d={bandPath(mean.map(zero), mean, steps, scale)} />
      ))}
      {lines.map(({ key, min, max }, nth) => (
        <path key={key} className={`band series-${nth + 1}`} d={bandPath(min, max, steps, scale)} />
      ))}
      {lines.map(({ key, mean }, nth) => (
        <path key={key} className={`line series-${nth + 1}`} d={linePath(mean, steps, scale)} />
      ))}
    </g>
  );
});

const zero = (value: number | null): number | null => value && 0;

/** A text at the edge would leave the picture. */
const EDGE_PIXELS = 22;
const anchorAt = (x: number, width: number) => (x < EDGE_PIXELS ? 'start' : x > width - EDGE_PIXELS ? 'end' : 'middle');

export const PLOT_TOP = EDGE.top;
