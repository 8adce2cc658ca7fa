import { useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { ChartTable } from './chart-table.tsx';
import { type Format, isNumber, type Line, type Mark } from './line.ts';
import { MarkLinks } from './mark-links.tsx';
import { gapsIn, type Steps } from './path.ts';
import { PLOT_HEIGHT, PLOT_TOP, Plot, shapeOf } from './plot.tsx';
import type { Span } from './range.ts';
import { chartTexts } from './texts.ts';
import { useTimeTexts } from './time-texts.ts';
import { usePlotInput } from './use-plot-input.ts';
import './style.css';

export interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly steps: Steps;
  /** The time that is shown. */
  readonly span: Span;
  readonly format: Format;
  /** Whether values are whole numbers. Default: false. */
  readonly isWhole?: boolean;
  readonly marks: readonly Mark[];
  /** The time of the crosshair, which charts of one screen share. `null`: none. */
  readonly point: number | null;
  readonly onPoint: (time: number | null) => void;
  /** Shows another time. */
  readonly onZoom: (span: Span) => void;
}

/**
 * Lines over time with their range from minimum to maximum, and the same as a table. A screen reader gets a summary,
 * and the values at the crosshair, which the arrow keys move.
 */
export function Chart(props: ChartProps) {
  const { title, lines, steps, span, format, isWhole = false, marks, point, onPoint, onZoom } = props;
  const text = useTexts(chartTexts);
  const times = useTimeTexts();
  const { area, width } = useWidth();
  const [summaryId, hintId] = [useId(), useId()];
  const shape = useMemo(
    () => shapeOf({ lines, span, width, format, isWhole }),
    [lines, span.from, span.to, width, format, isWhole],
  );
  const { selected, handlers } = usePlotInput({ span, stepMs: steps.stepMs, shape, point, onPoint, onZoom });
  const known = (nth: number) => lines.some(({ mean }) => isNumber(mean[nth]));
  const pointed = point === null ? null : Math.floor((point - steps.from) / steps.stepMs);
  const last = Array.from({ length: steps.count }, (_, nth) => nth).findLast(known) ?? -1;
  const shown = pointed ?? last;
  const show = (value: number | null | undefined) => (isNumber(value) ? format(value) : '–');
  const timeOf = (nth: number) => times.moment(steps.from + nth * steps.stepMs, steps.stepMs);
  const valuesAt = (nth: number) => lines.map(({ title: name, mean }) => `${name} ${show(mean[nth])}`).join(', ');
  const x = pointed === null ? null : shape.scale.x(steps.from + (pointed + 0.5) * steps.stepMs);
  return (
    <figure className="card chart">
      <figcaption>
        {title} <small>{pointed === null ? (last >= 0 ? text('last') : text('noValues')) : timeOf(pointed)}</small>
      </figcaption>
      <p className="legend">
        {lines.map(({ key, title: name, mean, min, max }, nth) => (
          <span key={key} className={`series-${nth + 1}`}>
            {name} <strong>{show(mean[shown])}</strong>
            {isNumber(min[shown]) && min[shown] !== max[shown] && (
              <small>
                {format(min[shown] ?? 0)}–{show(max[shown])}
              </small>
            )}
          </span>
        ))}
      </p>
      <p id={summaryId} className="hidden">
        {text('summary', { from: timeOf(0), to: timeOf(steps.count), lines: useSummary(lines, format) })}{' '}
        {text('gaps', {
          count: gapsIn(
            lines.map(({ mean }) => mean),
            steps,
          ).length,
        })}
      </p>
      <p id={hintId} className="hidden">
        {text('keys')}
      </p>
      <div className="plot" ref={area}>
        <div
          role="slider"
          tabIndex={0}
          aria-label={title}
          aria-describedby={`${summaryId} ${hintId}`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, steps.count - 1)}
          aria-valuenow={Math.min(steps.count - 1, Math.max(0, shown))}
          aria-valuetext={shown < 0 ? text('noValues') : `${timeOf(shown)}: ${valuesAt(shown)}`}
          onBlur={() => onPoint(null)}
          {...handlers}
        >
          {width > 0 && (
            <svg width={width} height={PLOT_HEIGHT} aria-hidden="true">
              <Plot lines={lines} steps={steps} span={span} shape={shape} format={format} marks={marks} />
              <g transform={`translate(${shape.left} ${PLOT_TOP})`}>
                {selected && (
                  <rect
                    className="selected"
                    x={shape.scale.x(Math.min(selected.from, selected.to))}
                    width={Math.abs(shape.scale.x(selected.to) - shape.scale.x(selected.from))}
                    height={shape.height}
                  />
                )}
                {x !== null && x >= 0 && x <= shape.width && (
                  <>
                    <line className="crosshair" x1={x} x2={x} y2={shape.height} />
                    {lines.map(({ key, mean }, nth) => {
                      const value = mean[pointed ?? -1];
                      return isNumber(value) ? (
                        <circle key={key} className={`series-${nth + 1}`} cx={x} cy={shape.scale.y(value)} r={3} />
                      ) : null;
                    })}
                  </>
                )}
              </g>
            </svg>
          )}
        </div>
        <MarkLinks marks={marks} shape={shape} />
      </div>
      <ChartTable title={title} lines={lines} steps={steps} show={show} />
    </figure>
  );
}

/** The lowest, the highest and the last value of each line, in words. */
function useSummary(lines: readonly Line[], format: Format): string {
  const text = useTexts(chartTexts);
  return lines
    .map(({ title, mean, min, max }) => {
      const all = [...min, ...mean, ...max].filter(isNumber);
      const now = mean.findLast(isNumber);
      if (now === undefined) return text('lineUnknown', { title });
      const [low, high] = [Math.min(...all), Math.max(...all)].map(format);
      return text('line', { title, low, high, now: format(now) });
    })
    .join(' ');
}

/** The width of an element in pixels, which changes with the window. */
function useWidth() {
  const area = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = area.current;
    if (element === null) return;
    const read = () => setWidth(element.clientWidth);
    read();
    const sizes = new ResizeObserver(read);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return { area, width };
}
